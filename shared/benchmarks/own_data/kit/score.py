
# %% [markdown]
# ## Train and score
# Fits the leaderboard's model to these examples and scores it on the practice set. With scikit-learn 1.2.2 and XGBoost 1.7.6 the score
# is that of `dataperf score`; other versions may differ.

# %%
def new_model(settings, seed):
    """The model of the manifest in scikit-learn or XGBoost."""
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.svm import SVC

    options = {name: value for name, value in settings.items() if name != "kind"}
    if settings["kind"] == "soft_voting":
        svc = SVC(probability=True, random_state=seed, **options["svc"])
        logistic = LogisticRegression(random_state=seed, **options["logistic"])
        return VotingClassifier([("svm", svc), ("lr", logistic)], voting="soft")
    if settings["kind"] == "gradient_boosting":
        from xgboost import XGBClassifier

        return XGBClassifier()
    if settings["kind"] == "k_nearest":
        return KNeighborsClassifier(n_neighbors=options["k"])
    kinds = {"logistic_regression": LogisticRegression, "svc": SVC, "nearest_centroid": NearestCentroid}
    return kinds[settings["kind"]](**options)


def practice_score(x, y):
    """The leaderboard's score of these examples on the practice set."""
    from sklearn import metrics

    scoring = rules["scoring"]
    rows = np.load("public/eval.npy").astype(float)
    with open("public/eval.csv", encoding="utf-8", newline="") as file:
        practice = list(csv.DictReader(file))
    number = {name: k for k, name in enumerate(scoring["classes"])}
    truth = np.array([number[example["label"]] for example in practice])
    scores = []
    for seed in scoring["seeds"] or [0]:
        model = new_model(scoring["model"], seed).fit(x.astype(float), [number[label] for label in y])
        predicted = model.predict(rows)
        f1 = metrics.f1_score(truth, predicted, labels=range(len(number)), average=None, zero_division=0)
        kind = scoring["metric"]["kind"]
        if kind == "macro_f1":
            scores.append(f1.mean())
        elif kind == "f1":
            scores.append(f1[number[scoring["metric"]["class"]]])
        elif kind == "balanced_accuracy":
            scores.append(metrics.balanced_accuracy_score(truth, predicted))
        else:
            is_worst = kind == "worst_group_accuracy"
            groups = np.array([example["group"] if is_worst else "" for example in practice])
            scores.append(min((predicted == truth)[groups == group].mean() for group in set(groups)))
    return np.mean(scores)


if not os.path.exists("public/eval.npy"):
    print("no practice set in this kit: upload the artifact to have it scored")
elif rules["scoring"]["model"]["kind"] == "network":
    print("`dataperf score` trains the network: scikit-learn has none like it")
else:
    try:
        print(f"score on the practice set: {practice_score(x, y)}")
    except ImportError as error:
        print(f"no score on the practice set: {error}")
