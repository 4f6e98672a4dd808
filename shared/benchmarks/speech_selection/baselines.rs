//! The baselines of Selection for Speech.

use std::collections::BTreeMap;

use crate::speech_selection::{EMBEDDINGS, Parameters, SpeechSelection, train_file, train_ids_file};
use dataperf::benchmark::dataset::Dataset;
use dataperf::dataset::frozen::FrozenError;
use dataperf::progress::Progress;
use serde_json::json;

use dataperf_baselines::lines;
use dataperf_baselines::no_such_method;
use dataperf_baselines::speech::{Clips, cleanlab, nested_cross_fold, random};
use dataperf_baselines::{BaselineError, Baselines, Made, Method};

impl Baselines for SpeechSelection {
    const METHODS: &'static [Method] = &[
        Method {
            name: "random",
            about: "random clips, 60 % of them targets",
            source: "harvard-edge/dataperf-speech-example",
        },
        Method {
            name: "nested-cross-fold",
            about: "of 10 x 10 random training sets the one that the frozen model does best with",
            source: "paper, 2.3.1 and Table 1",
        },
        Method {
            name: "cleanlab",
            about: "drops clips whose label confident learning doubts, and of the nontargets the half with \
                    the lowest label quality; then takes the medoids of each class. The frozen model's score \
                    decides how many clips are targets, and whether that half of each word's clips is \
                    dropped too",
            source: "paper, 2.3.1 and Table 1; Northcutt et al. 2021; Schubert and Rousseeuw 2021",
        },
    ];

    async fn artifact(
        dataset: &Dataset<Self>,
        leaderboard: &str,
        method: &str,
        seed: u32,
        progress: &dyn Progress,
    ) -> Result<Made, BaselineError> {
        let parameters: Parameters = dataset.manifest().parameters()?;
        let limits = parameters.limits(leaderboard)?;
        let language = parameters.language(&limits.language)?;
        let (path, ids_path) = (train_file(&limits.language), train_ids_file(&limits.language));
        let files = dataset.files();
        let matrix = files.matrix(&path, EMBEDDINGS).await?;
        let ids = files.whole(&ids_path).await?;
        let ids = lines(&ids_path, &ids)?;
        let x = matrix.view();
        if ids.len() != x.nrows() {
            return Err(FrozenError::damaged(&ids_path, "it has not one id for each row").into());
        }
        let mut classes = vec![0; ids.len()];
        for (class, rows) in (1..).zip(language.targets.values()) {
            let of_word = classes.iter_mut().skip(rows.first).take(rows.n);
            of_word.for_each(|of_row| *of_row = class);
        }
        let clips = Clips {
            x,
            classes: &classes,
            n_classes: language.targets.len() + 1,
            max_clips: limits.max_clips,
        };
        let named = |rows: &[usize]| rows.iter().map(|&row| ids[row]).collect::<Vec<_>>();
        let (rows, details) = match method {
            "random" => (random::select(&clips, seed), json!({})),
            "nested-cross-fold" => {
                let selection = nested_cross_fold::select(&clips, seed, progress)?;
                (selection.rows, json!({ "scores": selection.scores }))
            }
            "cleanlab" => {
                let cleaned = cleanlab::select(&clips, seed, progress)?;
                let flagged = named(&cleaned.flagged);
                let details = json!({ "flagged": flagged, "kept": named(&cleaned.kept), "costs": cleaned.costs, "scores": cleaned.scores });
                (cleaned.rows, details)
            }
            _ => return Err(no_such_method::<Self>(method)),
        };
        let listed = |class: usize| {
            let of_class = rows.iter().filter(|&&row| classes[row] == class);
            of_class.map(|&row| ids[row]).collect::<Vec<_>>()
        };
        let targets: BTreeMap<&String, Vec<&str>> = language.targets.keys().zip((1..).map(listed)).collect();
        let artifact = json!({ "targets": targets, "nontargets": listed(0) });
        Made::new(&artifact, details)
    }
}
