// The page in headless Chromium, against `dataperf demo all --keep-running`: what it shows, that it works by keyboard and on a
// phone, and that axe finds nothing. Nothing here depends on the machine's speed: every step waits for its condition.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const { PAGE_BASE: base, PAGE_TOKEN: token, PAGE_SUBMITTER: submitter, PAGE_RATER: rater, PAGE_DEMO: demo, PAGE_AUDIT: audit, PAGE_MODELS: compared, PAGE_ACROSS: agreeing, PAGE_CHROMIUM: executablePath, PAGE_SHOTS: shots } = process.env;
const PATIENCE = 120_000; // for one step
const LONGEST = 10 * PATIENCE; // for one test: even what waits for no condition ends, with a message
// evaluated and not loaded: the page's own policy keeps other scripts out
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const SCREENS = {
  light: { viewport: { width: 1200, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1200, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 360, height: 740 }, colorScheme: "light", deviceScaleFactor: 2 },
  "dark phone": { viewport: { width: 360, height: 740 }, colorScheme: "dark", deviceScaleFactor: 2 },
};

let browser;
const ids = {};

const api = async (path) => {
  const answer = await fetch(`${base}/api/v1/benchmarks${path && `/${path}`}`, { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(PATIENCE) });
  assert.equal(answer.status, 200, path);
  return answer.json();
};

before(async () => {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];
  browser = await chromium.launch({ executablePath, args, timeout: PATIENCE });
  const first = async (board) => (await api(board)).rows.find((row) => !row.is_baseline).submission;
  ids.scored = await first("speech-selection/leaderboards/en-25");
  const [one, two] = (await api("speech-selection/leaderboards/en-25")).rows.filter((row) => !row.is_baseline);
  [ids.second, ids.names] = [two.submission, [one.submitter, two.submitter]];
  ids.acquisition = await first("data-acquisition/leaderboards/open");
  ids.debugging = await first("vision-debugging/leaderboards/open");
  ids.debugger = (await api(`vision-debugging/submissions/${ids.debugging}`)).submitter;
  ids.vision = await first("vision-selection/leaderboards/open");
  const { submissions } = await api("speech-selection/submissions?submitter=hasty");
  for (const { submission } of submissions) {
    const { private: own } = await api(`speech-selection/submissions/${submission}`);
    if (own.n_reasons > 1) ids.rejected = submission;
  }
  const { submissions: asked } = await api("adversarial-nibbler/submissions?submitter=ada");
  ids.request = asked.find(({ leaderboard }) => leaderboard === "generate").submission;
  ids.pairs = asked.find(({ leaderboard }) => leaderboard === "submit").submission;
  assert.ok(ids.rejected, "the demo has a submission that breaks several rules");
});

after(() => browser?.close());

/** What `work` comes to, or an error that says where the page stood when it took too long. */
async function bounded(work, page) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`this test is not over after ${LONGEST / 60_000} minutes; the page stands at ${page.url()}`)), LONGEST);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A page on a screen of its own; at its end there must have been no error in its console and no request elsewhere. */
async function on(screen, address, body) {
  const context = await browser.newContext({ ...SCREENS[screen], locale: "en-GB", timezoneId: "UTC", reducedMotion: "reduce" });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.stack));
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== base && !["data:", "blob:"].includes(protocol)) faults.push(`asked ${request.url()}`);
  });
  const visit = async () => {
    await page.goto(`${base}/${address}`);
    await shown(page);
    if (address.startsWith("#token=")) await confirmToken(page);
    await body(page, faults);
    assert.deepEqual(faults, []);
  };
  try {
    await bounded(visit(), page);
  } finally {
    await context.close();
  }
}

const shown = (page) => page.waitForSelector("main:not([aria-busy]) h1");

/** Confirms the token that the address had. */
async function confirmToken(page) {
  await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
  await page.waitForFunction(() => !document.getElementById("token").open);
  await shown(page);
}

const heading = (page) => page.locator("h1").innerText();

/** Goes to another view of the page. */
async function go(page, address, title) {
  await page.evaluate((hash) => (location.hash = hash), address);
  await page.waitForFunction((wanted) => document.title.startsWith(wanted), title);
  await shown(page);
}

const counted = (n, n_baselines) => `${n} ${n === 1 ? "submitter" : "submitters"}, ${n_baselines} ${n_baselines === 1 ? "baseline" : "baselines"}`;

const signedIn = (address) => `#token=${token}${address}`;
const asAda = `#token=${submitter}`;

test("the list of benchmarks leads to every board", async () => {
  await on("light", "", async (page) => {
    assert.equal(await heading(page), "Competitions on data");
    const { benchmarks } = await api("");
    assert.equal(await page.locator(".card").count(), benchmarks.flatMap((benchmark) => benchmark.leaderboards).length);
    const card = page.locator(".card", { hasText: "Portuguese, 60 clips" });
    const { rows } = await api("speech-selection/leaderboards/pt-60");
    const leader = rows.find((row) => !row.is_baseline);
    const n_baselines = rows.filter((row) => row.is_baseline).length;
    assert.equal(await card.locator(".leader").innerText(), `${leader.score.toFixed(4)}\nmacro F1\n${leader.submitter}`, "who leads is no baseline");
    assert.equal(await card.locator(".count").innerText(), counted(rows.length - n_baselines, n_baselines));
    await card.click();
    await page.waitForFunction(() => document.title.startsWith("Speech selection Portuguese, 60 clips"));
    await shown(page);
    assert.equal(await page.locator(".siblings a").count(), 6);
    assert.equal(await page.locator('.siblings a[aria-current="page"]').innerText(), "Portuguese, 60 clips");
    await page.locator(".crumbs a", { hasText: "Speech selection" }).click();
    await page.waitForFunction(() => document.title.startsWith("Speech selection · "));
    await shown(page);
    assert.equal(await page.locator(".columns > section").count(), 6, "the boards of a benchmark side by side");
  });
});

test("a board sorts, searches and says how to submit", async () => {
  await on("light", "#/speech-selection/board/en-25/open", async (page) => {
    const rows = page.locator(".standings tbody tr");
    const column = (idx) => rows.evaluateAll((found, n) => found.map((row) => row.children[n].innerText.trim().split(/\s/)[0]), idx);
    const n_rows = await rows.count();
    const ranks = (await column(0)).filter((rank) => rank !== "baseline");
    assert.deepEqual(ranks, ["1", "2", "3", "4", "5"], "baselines have a place and no rank");
    assert.ok(n_rows > ranks.length, "the demo submits baselines");
    assert.equal(await page.locator(".bar .count").innerText(), counted(ranks.length, n_rows - ranks.length));
    const scores = (await column(2)).map(Number);
    assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
    assert.equal(await page.locator(".standings svg.strip circle").count(), 10 * n_rows, "ten seeds in each row");

    await page.getByRole("button", { name: "Submitter" }).click();
    const names = await column(1);
    assert.deepEqual(names, [...names].sort());
    assert.equal(await page.locator("th[aria-sort]").innerText(), "Submitter");
    await page.getByRole("button", { name: "Score" }).click();
    await page.getByRole("button", { name: "Score" }).click();
    assert.deepEqual((await column(2)).map(Number), [...scores].reverse());

    await page.getByLabel("Search submitters").fill("LISTEN");
    assert.deepEqual(await column(1), ["second-listen"]);
    assert.equal(await page.locator(".bar .count").innerText(), `1 of ${n_rows}`);
    await page.getByLabel("Search submitters").fill("nobody of that name");
    assert.equal(await rows.innerText(), "Nobody of that name.");

    assert.match(await page.locator("main").innerText(), new RegExp(`${n_rows} entries; the newest is from `));
    await go(page, "#/speech-selection/board/en-25/open/submit", "Speech selection English, 25 clips");
    await page.waitForSelector("#submitting");
    const commands = await page.locator(".command code").allInnerTexts();
    // the page of a local cloud gives commands that go there
    const { submitting } = await api("speech-selection");
    assert.match(submitting.s3_endpoint, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.equal(commands[0], `aws --endpoint-url ${submitting.s3_endpoint} s3 cp my-file.json s3://submissions/speech-selection/en-25/YOU/my-file.json`);
    assert.equal(commands[1], `dataperf submit speech-selection --leaderboard en-25 --submitter YOU my-file.json --cloud ${base}`);
    await go(page, "#/speech-selection/board/en-25/open/data", "Speech selection English, 25 clips");
    await page.waitForSelector(".digest");
    assert.match(await page.locator(".digest").innerText(), /^sha256:[0-9a-f]{64}$/);
    await page.getByText("Files", { exact: true }).click();
    assert.equal(await page.locator(".files tbody tr").count(), 12);
  });
});

test("a board says what its ranks are worth, and keeps scores of another data set apart", async () => {
  await on("light", "", async (page) => {
    // the demo's test sets are too small for intervals, and its boards have one data set
    let rows;
    await page.route(/\/leaderboards\/en-25\?/, async (route) => {
      const board = await (await route.fetch()).json();
      const comparison = { compared_at: "2026-03-01T00:00:00.000Z", confidence: 0.95, n_best: 2, resolution: 0.0123, is_resolution_withheld: false, n_missing: 0, is_clustered: false, why_none: null };
      const intervals = [[1, 2], [1, 2], [3, 5]];
      rows = board.rows.filter((row) => !row.is_baseline).map((row, n) => {
        const isOld = n > 2;
        return { ...row, rank: isOld ? null : row.rank, is_of_other_dataset: isOld, rank_interval: isOld ? null : intervals[n], interval: isOld ? null : [row.score - 0.01, row.score + 0.01], n_submissions: n === 0 ? 1000 : 1, is_above_baselines: n === 2 ? false : null };
      });
      await route.fulfill({ json: { ...board, comparison, rows } });
    });
    await go(page, "#/speech-selection/board/en-25/open", "Speech selection English, 25 clips");
    const lines = page.locator(".standings tbody tr");
    const texts = async () => (await lines.allInnerTexts()).map((text) => text.replace(/\s+/g, " "));
    const apart = /^These rows were scored with another data set/;
    const found = await texts();
    assert.equal(found.length, rows.length + 1);
    assert.match(found[0], /^1 1 to 2 .* 1,000 tries/);
    assert.match(found[2], /^3 3 to 5 .* not clearly better than the best baseline/);
    assert.match(found[3], apart);
    assert.ok(found.slice(4).every((text) => text.startsWith("earlier data set")), found.join("\n"));
    assert.equal(await page.locator(".standings tr[data-best]").count(), 2, "the best group is marked");
    assert.equal(await page.locator(".standings .whisker").count(), 3);
    assert.deepEqual(await page.locator(".standings .lanes span").evaluateAll((parts) => parts.map((part) => part.className).filter(Boolean)), ["begins", "ends"], "the two that are not told apart are joined");
    const said = await page.locator(".worth").innerText();
    assert.match(said, /^The 2 marked submissions are tied for first\. This test set can usually \(80 % of the time\) separate two scores that differ by 0\.012 or more\. With many submissions the difference must be larger\./);
    await page.getByRole("button", { name: "Score" }).click();
    await page.getByRole("button", { name: "Score" }).click();
    assert.match((await texts())[3], apart, "they stay apart, however the table is sorted");
    assert.equal(await page.locator(".standings .lanes").count(), 0, "and brackets join neighbours by rank only");
    await go(page, "#/speech-selection", "Speech selection");
    const beside = page.locator(".columns > section", { hasText: "English, 25 clips" }).locator("tbody tr");
    assert.match((await beside.first().innerText()).replace(/\s+/g, " "), /^1 ranks 1 to 2 /, "no rank stands bare where boards are side by side");
  });
});

test("the row of a submitter has its rank", async () => {
  const row = (n, rank, submitter) => ({ rank, is_baseline: false, submitter, score: 1 - rank / 10, is_released: false, received_at: "2026-03-01T00:00:00.000Z", submission: String(n).repeat(32), dataset: null, is_of_other_dataset: false, rank_interval: null, interval: null, n_submissions: 2, is_above_baselines: null, public_rank: null });
  const pages = { "": [[row(1, 1, "ada"), row(2, 2, "bo")], "second"], second: [[row(3, 3, "ada"), row(4, 4, "bo")], "third"], third: [[row(5, 5, "cy")], null] };
  const line = (n) => ({ submission: String(n).repeat(32), leaderboard: "en-25", round: "open", submitter: "ada", received_at: "2026-03-01T00:00:00.000Z", status: "scored", score: 0.5, withdrawn_at: null, is_released: false, withdrawal_reason: null, private: { key: `speech-selection/en-25/ada/${n}.json`, reason: null, n_reasons: 0 } });
  for (const [ranking, ranks, asked] of [["best", ["1", ""], [""]]]) {
    await on("light", asAda, async (page) => {
      const read = [];
      await page.route(/\/leaderboards\/en-25\?/, async (route) => {
        const cursor = new URL(route.request().url()).searchParams.get("cursor") ?? "";
        const [rows, next] = pages[cursor];
        read.push(cursor);
        await route.fulfill({ json: { rows, next } });
      });
      await page.route("**/api/v1/benchmarks/speech-selection", async (route) => {
        const benchmark = await (await route.fetch()).json();
        await route.fulfill({ json: { ...benchmark, leaderboards: benchmark.leaderboards.map((board) => ({ ...board, ranking })) } });
      });
      await page.route(/\/speech-selection\/submissions\?/, (route) => route.fulfill({ json: { submissions: [line(1), line(3)], next: null } }));
      await go(page, "#/speech-selection/submitter/ada", "ada");
      await page.waitForSelector(".history.own tbody tr");
      assert.deepEqual(await page.locator(".history.own tbody tr td:last-child").allInnerTexts(), ranks, ranking);
      assert.deepEqual(read, asked, `${ranking}: no more is read than needed`);
    });
  }
});

test("the organizer sees what failed, with the command for this cloud", async () => {
  await on("light", signedIn(""), async (page) => {
    const one = { submission: "0123456789abcdef0123456789abcdef", leaderboard: "en-25", round: "open", submitter: "ada", received_at: "2026-03-01T00:00:00.000Z", status: "failed", score: null };
    await page.route(/\/speech-selection\/failed\?/, (route) => route.fulfill({ json: { benchmark: "speech-selection", submissions: [one], next: null } }));
    await go(page, "#/organize", "Organize");
    await page.waitForSelector("#waiting");
    assert.match(await page.locator("section[aria-labelledby=waiting] tbody").innerText(), /Speech selection\s+en-25\s+ada\s+failed/);
    assert.match(await page.locator("section[aria-labelledby=timeline]").textContent(), /Selection, spring(opens|closes)/);
    assert.equal(await page.locator("section[aria-labelledby=waiting] .command code").innerText(), `dataperf redrive --all-failed --cloud ${base}`);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  });
});

test("the organizer has the submitters of a benchmark listed", async () => {
  await on("light", signedIn(""), async (page) => {
    await go(page, "#/organize", "Organize");
    await page.waitForSelector("#submitters");
    const asked = [];
    page.on("request", (request) => request.url().includes("/submitters?") && asked.push(request.url()));
    await page.selectOption("#benchmark-of-submitters", { label: "Speech selection" });
    assert.deepEqual(asked, [], "nothing is read before it is asked for");
    await page.getByRole("button", { name: "List its submitters" }).click();
    await page.waitForSelector(".submitters table");
    const names = await page.locator(".submitters tbody th a").allInnerTexts();
    assert.ok(names.includes("plain-and-simple"), names.join());
    const rows = await page.locator(".submitters tbody tr").all();
    const counts = await Promise.all(rows.map(async (row) => (await row.locator("td").allInnerTexts()).slice(0, 7).map(Number)));
    for (const [n, ...endings] of counts) assert.equal(n, endings.slice(0, 5).reduce((sum, of) => sum + of), "each upload ends in one way");
    assert.ok(counts.some(([n, scored]) => n > 0 && scored > 0), JSON.stringify(counts));
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    await page.route(/\/adversarial-text\/submitters\?/, (route) => {
      const limited = { leaderboard: "submit", round: "open", is_open: true, together: [], day: null, round_limit: { limit: 5, n_used: 2, n_left: 3, resets_at: null } };
      const one = { submitter: "cy", since: "2026-03-01T00:00:00.000Z", n_submissions: 1000, is_more: true, n_scored: 0, n_accepted: 1000, n_rejected: 0, n_failed: 0, n_unfinished: 0, n_withdrawn: 0, last_upload: null, is_baseline: true, leaderboards: [limited], allowances: [{ kind: "examples", title: "examples", limit: 40, n_used: 1, n_left: 39, resets_at: null }] };
      return route.fulfill({ json: { benchmark: "adversarial-text", submitters: [one], next: null } });
    });
    await page.selectOption("#benchmark-of-submitters", { label: "Adversarial text" });
    await page.getByRole("button", { name: "List its submitters" }).click();
    await page.waitForSelector(".submitters .tag");
    const text = (await page.locator(".submitters tbody").innerText()).replace(/\s+/g, " ");
    assert.match(text, /1,000 and more .*submit: 3 of 5 in the round examples: 39 of 40 today/);
  });
  await on("light", asAda, async (page) => {
    await go(page, "#/organize", "Organize");
    assert.equal(await page.locator("#submitters").count(), 0, "the organizer's alone");
  });
});

test("the organizer has the files of a board compared", async () => {
  await on("light", signedIn(""), async (page) => {
    const file = (submitter, digit, n) => ({ artifact: `sha256:${String(n).repeat(64)}`, content: `sha256:${digit.repeat(64)}`, submission: String(n).repeat(32), submitter, is_baseline: false, received_at: "2026-03-01T00:00:00.000Z" });
    const files = [file("ada", "a", 1), file("bo", "b", 2), file("cy", "a", 3), file("bo", "b", 4)];
    await page.route(/\/speech-selection\/leaderboards\/[^/]+\/files\?/, (route) => {
      const isFirst = !route.request().url().includes("cursor=");
      return route.fulfill({ json: { benchmark: "speech-selection", leaderboard: "en-25", round: "open", files: isFirst ? files.slice(0, 2) : files.slice(2), next: isFirst ? "more" : null } });
    });
    await go(page, "#/organize", "Organize");
    await page.waitForSelector("#identical");
    const asked = [];
    page.on("request", (request) => request.url().includes("/files?") && asked.push(request.url()));
    assert.ok(!(await page.locator("#board-of-files option").allInnerTexts()).some((name) => /Adversarial (text|nibbler),/.test(name)), "whose scores are no files");
    await page.selectOption("#board-of-files", { label: "Speech selection, en-25" });
    assert.deepEqual(asked, [], "nothing is read before it is asked for");
    await page.getByRole("button", { name: "Compare its files" }).click();
    await page.waitForSelector(".identical table");
    const text = (await page.locator(".identical").innerText()).replace(/\s+/g, " ");
    assert.match(text, /4 scored files of en-25 were compared: 1 file from more than one submitter\./);
    assert.match(text, /ada .*cy /);
    assert.equal(await page.locator(".identical tbody tr").count(), 2, "one's own twice is no such file");
    assert.equal(asked.length, 2);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  });
  await on("light", asAda, async (page) => {
    await go(page, "#/organize", "Organize");
    assert.equal(await page.locator("#identical").count(), 0, "the organizer's alone");
  });
});

test("a withdrawal says why", async () => {
  await on("light", asAda, async (page) => {
    await page.route(/\/speech-selection\/submissions\/[0-9a-f]{32}$/, async (route) => {
      const one = await (await route.fetch()).json();
      const withdrawals = [{ at: "2026-03-01T00:00:00.000Z", reason: "the wrong file", undone_at: "2026-03-02T00:00:00.000Z", undo_reason: "it was right" }];
      await route.fulfill({ json: { ...one, private: { reasons: [], n_reasons: 0, cause: null, lines: [], key: null, version: null, withdrawals } } });
    });
    await page.route(/\/speech-selection\/submissions\?/, async (route) => {
      const page = await (await route.fetch()).json();
      const submissions = page.submissions.map((line) => ({ ...line, withdrawn_at: "2026-03-01T00:00:00.000Z", withdrawal_reason: "another is better" }));
      await route.fulfill({ json: { ...page, submissions } });
    });
    await go(page, `#/speech-selection/submission/${ids.scored}`, ids.names[0]);
    assert.match(await page.locator("section[aria-labelledby=facts]").innerText(), /Withdrawn\s+1 Mar 2026, 00:00: the wrong file; undone 2 Mar 2026, 00:00: it was right/);
    await go(page, `#/speech-selection/submitter/${ids.names[0]}`, ids.names[0]);
    await page.waitForSelector(".history tbody tr");
    assert.match(await page.locator(".history tbody").innerText(), /withdrawn\s*another is better/);
  });
});

test("an audit is drawn in the browser and sent nowhere", async () => {
  await on("light", "#/audit", async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.setInputFiles("#file", { name: "other.json", mimeType: "application/json", buffer: Buffer.from('{"sets": 3}') });
    await page.waitForSelector("main [role=alert]");
    assert.match(await page.locator("main [role=alert]").innerText(), /not an audit.*dataperf audit frozen\/ --format json/);
    await page.setInputFiles("#file", audit);
    await page.waitForSelector(".stacked");
    const { sets } = JSON.parse(readFileSync(audit));
    assert.equal(await page.locator("main h2[id^=set-]").count(), sets.length);
    assert.equal(await page.locator("dt", { hasText: "Also in" }).count(), sets.reduce((n, { leaks }) => n + leaks.length, 0));
    assert.equal(await page.locator("svg.stacked").count(), sets.reduce((n, { classes }) => n + classes.length, 0));
    const [first] = sets;
    assert.match(await page.locator("section[aria-labelledby=set-0] .facts").innerText(), new RegExp(`Likely errors\\s+${first.n_likely} of ${first.n_items}, .* with 95 % confidence`));
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    assert.deepEqual(asked.filter((url) => !url.startsWith("blob:")), []);
  });
});

test("agreement of boards is drawn with its intervals in the browser", async () => {
  await on("light", "#/across", async (page) => {
    await page.setInputFiles("#file", audit);
    await page.waitForSelector("main [role=alert]");
    assert.match(await page.locator("main [role=alert]").innerText(), /not a comparison of boards.*dataperf leaderboard across/);
    await page.setInputFiles("#file", agreeing);
    await page.waitForSelector("table.numbers");
    const text = () => page.locator("main").innerText();
    assert.match(await text(), /3 submitters on all 2 boards[^]*No intervals: selection\/a: scores of a file[^]*selection\/a and selection\/b\s+3\s+0\.333/);
    const document = JSON.parse(readFileSync(agreeing));
    document.agreements[0].interval = [-0.25, 1];
    document.why_no_intervals = null;
    await page.setInputFiles("#file", { name: "across.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(document)) });
    await page.waitForFunction(() => document.querySelector("main").innerText.includes("-0.25 to 1.00"));
    assert.equal(await page.locator("table.numbers").count(), 3);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  });
});

test("weights of models are moved by keyboard, and the file is sent nowhere", async () => {
  await on("light", "#/models", async (page) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.setInputFiles("#models", { name: "other.json", mimeType: "application/json", buffer: Buffer.from('{"models": []}') });
    await page.waitForSelector("main [role=alert]");
    assert.match(await page.locator("main [role=alert]").innerText(), /not a comparison of models.*dataperf dynamic models/);
    await page.setInputFiles("#models", compared);
    const lines = page.locator("table.numbers tbody tr");
    await lines.first().waitFor();
    const { models } = JSON.parse(readFileSync(compared));
    const names = () => lines.evaluateAll((all) => all.map((line) => line.dataset.name));
    const sums = () => lines.evaluateAll((all) => all.map((line) => Number(line.children[2].textContent)));
    assert.deepEqual(await names(), models.map(({ name }) => name));
    (await sums()).forEach((sum, idx) => assert.ok(Math.abs(sum - models[idx].score) < 0.006, `${sum}`));
    assert.match(await page.locator("main").innerText(), /Below each rank are the ranks that the model could have/);
    // what is cheap alone counts: performance, robustness and fairness by none
    for (const axis of ["performance", "robustness", "fairness"]) await page.locator(`#weight-${axis}`).press("Home");
    const cheap = ({ points: [, compute, memory] }) => compute + memory;
    const expected = [...models].sort((a, b) => cheap(b) - cheap(a));
    assert.deepEqual(await names(), expected.map(({ name }) => name));
    (await sums()).forEach((sum, idx) => assert.ok(Math.abs(sum - cheap(expected[idx])) < 0.006, `${sum}`));
    assert.equal(await page.locator("output[for=weight-fairness]").innerText(), "× 0");
    await page.getByRole("button", { name: "Weights of the file" }).press("Enter");
    assert.deepEqual(await names(), models.map(({ name }) => name));
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
    assert.deepEqual(asked.filter((url) => !url.startsWith("blob:")), []);
  });
});

test("the data are behind a button", async () => {
  await on("light", "#/speech-selection/board/en-25/open/data", async (page, faults) => {
    const coming = page.waitForEvent("download");
    await page.getByRole("link", { name: "Get the data" }).click();
    const download = await coming;
    assert.equal(download.suggestedFilename(), "speech-selection-kit.zip");
    const archive = readFileSync(await download.path());
    assert.equal(archive.subarray(0, 2).toString(), "PK");
    assert.ok(archive.includes("speech-selection-kit/starter.py"));
    // the one address elsewhere that the page leads to
    const asked = faults.splice(0);
    assert.ok(asked.every((fault) => /^asked http:\/\/127\.0\.0\.1:\d+\/datasets\/speech-selection\/[0-9a-f]{64}\/kit\.zip\?/.test(fault)), asked.join("\n"));
  });
});

test("a CSV file has what the token may see, and without one it is behind a link", async () => {
  const board = "#/speech-selection/board/en-25/open";
  const saved = async (page, locator) => {
    const coming = page.waitForEvent("download");
    await locator.click();
    const download = await coming;
    return [download.suggestedFilename(), readFileSync(await download.path(), "utf8")];
  };
  let open;
  await on("light", board, async (page) => {
    const [standings, series] = await page.getByRole("link", { name: "CSV" }).all();
    open = [await saved(page, standings), await saved(page, series)];
    assert.deepEqual(open.map(([name]) => name), ["en-25.csv", "series.csv"]);
    assert.match(open[0][1], /^rank,is_baseline,submitter,score,/);
  });
  await on("light", signedIn(""), async (page, faults) => {
    await go(page, board, "Speech selection English, 25 clips");
    const tokens = [];
    page.on("request", (request) => request.url().includes("format=csv") && tokens.push(request.headers().authorization));
    const [standings, series] = await page.getByRole("button", { name: "CSV" }).all();
    assert.deepEqual([await saved(page, standings), await saved(page, series)], open, "the same file where everybody may see everything");
    assert.deepEqual(tokens, [`Bearer ${token}`, `Bearer ${token}`]);
    await page.route(/format=csv/, (route) => route.fulfill({ status: 401, contentType: "application/problem+json", json: { code: "expired_token", status: 401, title: "the token has expired", detail: "Ask the organizer for another one." } }));
    await standings.click();
    await page.locator("section[aria-labelledby=standings] [role=alert]", { hasText: "another one" }).waitFor();
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("401"))); // the browser logs it
  });
});

/** How many pixels of a chart are of the colour that the style sheet calls `name`. */
const painted = (page, name) =>
  page.evaluate((name) => {
    const canvas = document.querySelector(".chart canvas");
    const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
    [probe.canvas.width, probe.canvas.height] = [canvas.width, canvas.height];
    probe.drawImage(canvas, 0, 0);
    const { data } = probe.getImageData(0, 0, canvas.width, canvas.height);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) n += data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255;
    return n;
  }, name);

/** Where the chart is, once it is in the window: what is outside of it feels no pointer. */
async function pointed(page) {
  const plot = page.locator(".chart .u-over");
  await plot.scrollIntoViewIfNeeded();
  return plot.boundingBox();
}

/** Waits until the line below the chart ends in one of `texts`. */
async function reads(page, texts) {
  const ends = (texts) => texts.some((text) => document.querySelector(".readout").textContent.endsWith(text));
  await page.waitForFunction(ends, texts).catch(async () => assert.fail(`${await page.locator(".readout").innerText()}: expected one of ${texts}`));
}

test("the best over time is plotted, in light, in dark, and when that changes", async () => {
  await on("light", "#/speech-selection/board/en-25/open", async (page) => {
    await page.waitForSelector(".chart canvas");
    assert.ok((await painted(page, "accent")) > 300, "the line of the best");
    assert.ok((await painted(page, "dot")) > 20, "the dots of the submissions");
    const { points } = await api("speech-selection/leaderboards/en-25/series");
    const of = (isBaseline) => points.filter((point) => point.is_baseline === isBaseline);
    const best = (some) => Math.max(...some.map((point) => point.score)).toFixed(4);
    assert.ok(of(true).length > 0, "the demo submits baselines");
    const label = `${of(false).length} scored submissions; the best is ${best(of(false))}, the best baseline ${best(of(true))}`;
    assert.ok((await page.locator(".chart").getAttribute("aria-label")).endsWith(label), label);
    assert.equal(await page.locator(".readout").innerText(), label);
    assert.equal(await page.locator(".key li").count(), 4, "the best, submissions, baselines, the best of them");

    const { x, y, width, height } = await pointed(page);
    const at = (point) => Date.parse(point.received_at);
    const pixel = (at(points.at(-1)) - at(points[0])) / width;
    const said = ({ submitter, score, best }) => `${submitter} · ${score.toFixed(4)}${best === null ? "" : ` · best so far ${best.toFixed(4)}`}`;
    // the pointer is up to two pixels inside, where a neighbour within twice that may be nearer
    for (const [end, point] of [[Math.ceil(x), points[0]], [Math.floor(x + width) - 1, points.at(-1)]]) {
      await page.mouse.move(end, y + height / 2);
      await reads(page, points.filter((other) => Math.abs(at(other) - at(point)) <= 6 * pixel).map(said));
    }
    const before = await painted(page, "accent");
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(() => getComputedStyle(document.documentElement).getPropertyValue("--accent").trim() === "#4fd1c1");
    // the style is there a frame or two before the drawing
    for (let frame = 0; (await painted(page, "accent")) <= before / 2; frame++) {
      assert.ok(frame < 100, "drawn anew in the colours of the dark");
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  });
});

test("the curves of a receipt are plotted", async () => {
  await on("light", signedIn(""), async (page) => {
    await page.evaluate((address) => { location.hash = address; }, `#/vision-debugging/submission/${ids.debugging}`);
    const { curves } = await api(`vision-debugging/submissions/${ids.debugging}/figures`);
    assert.ok(curves.length > 1);
    await page.waitForSelector(".chart canvas");
    for (const name of ["accent", "second"]) assert.ok((await painted(page, name)) > 60, `a line in the colour ${name}`);
    const { tables } = await api(`vision-debugging/submissions/${ids.debugging}/figures`);
    const [goals] = tables.filter(({ columns }) => columns.some((name) => name.startsWith("target")));
    const column = goals.columns.findIndex((name) => name.startsWith("target"));
    const tasks = curves.map(({ of }) => of.replace(/^tasks \/ /, "task "));
    const targets = curves.map(({ of }) => goals.lines.find(({ label }) => of.endsWith(label)).values[column].toFixed(4));
    assert.deepEqual(await page.locator(".key li").allInnerTexts(), [...tasks, ...tasks.map((task, idx) => `target of ${task}: ${targets[idx]}`)]);
    const { x, y, width, height } = await pointed(page);
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.waitForFunction(() => /^images inspected \d+: task .+ 0\.\d+/.test(document.querySelector(".readout").textContent));
  });
});

test("a submission shows what its score is made of", async () => {
  await on("light", `#/speech-selection/submission/${ids.scored}`, async (page) => {
    assert.match(await heading(page), /^0\.5554\s+scored$/);
    assert.equal(await page.locator(".trials circle").count(), 10);
    assert.equal(await page.locator(".bars meter").count(), 6);
    assert.equal(await page.getByText("Yours to keep").count(), 0, "that is for its submitter");
    await go(page, `#/data-acquisition/submission/${ids.acquisition}`, "a-bit-of-all");
    assert.equal(await page.locator(".trials tbody tr").count(), 6, "five markets and all of them");
    assert.equal(await page.locator(".numbers tbody tr").count(), 5);
    await go(page, `#/vision-selection/submission/${ids.vision}`, "coin-flip");
    assert.equal(await page.locator(".numbers tbody tr").count(), 3);
  });
});

test("what is withheld has a word and no empty box, and the organizer sees it", async () => {
  await on("light", `#/vision-debugging/submission/${ids.debugging}`, async (page) => {
    assert.match(await page.locator("section", { hasText: "Not shown on this board" }).innerText(), /Curves/);
    assert.equal(await page.locator(".chart").count(), 0);
  });
  await on("light", signedIn(""), async (page) => {
    await page.evaluate((address) => { location.hash = address; }, `#/vision-debugging/submission/${ids.debugging}`);
    await page.waitForSelector(".chart canvas");
    assert.equal(await page.getByText("Not shown on this board").count(), 0);
  });
});

test("a rejection shows all its reasons to those who may see it, and asks others to sign in", async () => {
  await on("light", `#/speech-selection/submission/${ids.rejected}`, async (page, faults) => {
    assert.match(await page.locator("main").innerText(), /Sign in with that submitter's token/);
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("401"))); // the browser logs every refusal
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#token-value").fill("dpk_wrong");
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.waitForFunction(() => document.getElementById("token-problem").textContent.includes("dataperf token create"));
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("401")));
    await page.locator("#token-value").fill(token);
    await page.getByRole("dialog").getByRole("button", { name: "Sign in" }).click();
    await page.waitForSelector(".reasons li");
    assert.match(await heading(page), /rejected$/);
    const n = await page.locator(".reasons li").count();
    assert.ok(n > 1);
    const said = await page.locator(".reasons").innerText();
    for (const word of ["unknown_clip", "too_many_clips", "limit", "/targets/", "remove"]) assert.ok(said.includes(word), said);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the receipt" }).click();
    assert.equal((await saved).suggestedFilename(), `${ids.rejected}.json`);
    await go(page, "#/speech-selection/submitter/hasty", "hasty");
    assert.equal(await page.locator(".pill.rejected").count(), 4);
    await page.getByRole("button", { name: "Signed in" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForSelector(".empty");
  });
});

test("a request shows each line's outcome, and its images blurred until each is asked for", async () => {
  await on("light", `#/adversarial-nibbler/submission/${ids.request}`, async (page, faults) => {
    assert.match(await page.locator("main").innerText(), /Sign in with that submitter's token/, "nobody else sees it");
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("401")));
    const { private: own } = await api(`adversarial-nibbler/submissions/${ids.request}`);
    const { id } = own.lines[0].images[0];
    const path = `adversarial-nibbler/submissions/${ids.request}/images/${id}`;
    assert.equal((await fetch(`${base}/api/v1/benchmarks/${path}`)).status, 401, "nobody gets its images");
  });
  await on("light", signedIn(""), async (page) => {
    await go(page, `#/adversarial-nibbler/submission/${ids.request}`, "ada");
    const { private: own } = await api(`adversarial-nibbler/submissions/${ids.request}`);
    assert.equal(await page.locator("#lines ~ ol > li").count(), own.lines.length);
    assert.equal(await page.locator("#lines ~ ol > li .pill.rejected").count(), 1, "an explicit prompt is refused");
    assert.equal(await page.locator("img[src^=blob]").count(), 0, "nothing is loaded unasked");
    assert.equal(await page.locator(".crumbs a").count(), 2, "a request stands on no board");
    assert.equal(await page.getByText("recompute the receipt").count(), 0);
    const first = page.locator("#lines ~ ol > li").first();
    await first.getByRole("button", { name: /blurred/ }).click();
    await page.waitForSelector(".picture img");
    assert.equal(await first.locator(".picture").count(), own.lines[0].images.length);
    await page.waitForFunction(() => [...document.querySelectorAll(".picture img")].every((image) => image.naturalWidth > 0));
    const blur = () => first.locator(".picture img").evaluateAll((images) => images.map((image) => getComputedStyle(image).filter !== "none"));
    assert.ok((await blur()).every(Boolean));
    await first.locator(".picture").first().click();
    assert.deepEqual(await blur(), own.lines[0].images.map((_, idx) => idx > 0), "the one that was asked for");
    await go(page, `#/adversarial-nibbler/submission/${ids.pairs}`, "ada");
    assert.equal(await page.locator("#lines ~ ol > li .pill.accepted").count(), 3);
    await go(page, "#/adversarial-nibbler/board/model-fooling/open", "Adversarial nibbler Model fooling");
    await go(page, "#/adversarial-nibbler/board/model-fooling/open/submit", "Adversarial nibbler Model fooling");
    await page.waitForSelector("#submitting");
    assert.equal(await page.locator("#upload").count(), 1, "its files are uploaded here as well");
    assert.match(await page.locator("main").innerText(), /nibbler-participants\.md/, "the guides are named where one takes part");
  });
});

test("a token in the address signs nobody in by itself", async () => {
  await on("light", "", async (page) => {
    await page.evaluate((hash) => (location.hash = hash), signedIn(""));
    await page.waitForFunction(() => document.getElementById("token").open);
    assert.equal(new URL(page.url()).hash, "#/", "the token is out of the address");
    assert.equal(await page.locator("#who").innerText(), "Sign in");
    await confirmToken(page);
    assert.equal(await page.locator("#who").innerText(), "Signed in");
  });
});

test("Markdown of any shape is read in linear time", async () => {
  await on("light", "", async (page) => {
    const lengths = await page.evaluate(async () => {
      const { markdown } = await import("./markdown.js");
      const n = 1_000_000; // a pattern that looks ahead to the end from each character takes hours
      const texts = ["[".repeat(n), `# ${" ".repeat(n)}x`, `# ${"#".repeat(n)}x`, "[a](".repeat(n / 4)];
      return texts.map((text) => markdown(text)[0].textContent.length);
    });
    assert.deepEqual(lengths, [1_000_000, 1, 1_000_001, 1_000_000]);
  });
});

test("names are text, never markup", async () => {
  await on("light", "", async (page) => {
    const name = '<img src=x onerror="document.title=1">';
    await page.route("**/leaderboards/en-25?*", async (route) => {
      const answer = await route.fetch();
      const board = await answer.json();
      if (board.rows) board.rows[0].submitter = name;
      await route.fulfill({ response: answer, json: board });
    });
    await go(page, "#/speech-selection/board/en-25/open", "Speech selection English, 25 clips");
    assert.equal(await page.locator(".standings tbody th").first().innerText(), name);
    assert.equal(await page.locator("main img").count(), 0);
  });
});

test("all of it can be done by keyboard", async () => {
  await on("light", "", async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.innerText || document.activeElement.getAttribute("aria-label") || document.activeElement.id);
    const tabTo = async (wanted) => {
      const seen = [];
      for (let n = 0; n < 80; n += 1) {
        await page.keyboard.press("Tab");
        seen.push(await focused());
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
        assert.notEqual(outline, "none", `what has the focus can be seen: ${seen.at(-1)}`);
        if (seen.at(-1).startsWith(wanted)) return;
      }
      assert.fail(`${wanted} is not reached: ${seen}`);
    };
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await tabTo("English, 25 clips");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.title.startsWith("Speech selection English, 25 clips") && document.activeElement.id === "main");
    await tabTo("Search submitters");
    await page.keyboard.type("coin");
    assert.equal(await page.locator(".standings tbody tr").count(), 1);
    await tabTo("Submitter");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("th[aria-sort]").innerText(), "Submitter");
    await tabTo("coin-flip");
    await tabTo("0.");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.title.startsWith("coin-flip"));
    await page.locator("#who").focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "token-value");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.getElementById("token").open), false);
  });
});

for (const screen of Object.keys(SCREENS)) {
  test(`axe finds nothing and nothing sticks out: ${screen}`, async () => {
    await on(screen, signedIn(""), async (page) => {
      await page.evaluate(AXE);
      const views = {
        "DataPerf leaderboards": "#/",
        "Speech selection English, 25 clips": "#/speech-selection/board/en-25/open",
        "second-listen": `#/speech-selection/submission/${ids.scored}`,
        hasty: `#/speech-selection/submission/${ids.rejected}`,
        "hasty · DataPerf": "#/speech-selection/submitter/hasty",
        "a-bit-of-all": `#/data-acquisition/submission/${ids.acquisition}`,
        "second-look": "#/vision-selection/submitter/second-look",
        "Adversarial nibbler Model fooling": "#/adversarial-nibbler/board/model-fooling/open",
        "ada · generate": `#/adversarial-nibbler/submission/${ids.request}`,
        [ids.debugger]: `#/vision-debugging/submission/${ids.debugging}`,
        "Speech selection Portuguese, 25 clips": "#/speech-selection/board/pt-25/open/submit",
        "Selection Handwritten digits, digits-20": "#/selection/board/digits-20/spring/rules",
        "Adversarial text Question answering": "#/adversarial-text/board/qa/open/rules",
        "Speech selection English, 60 clips": "#/speech-selection/board/en-60/open/data",
        "Vision selection": "#/vision-selection",
        Organize: "#/organize",
        "Boards side by side": "#/boards/speech-selection/en-25/open/vision-selection/open/open",
        [`${ids.names[0]} and ${ids.names[1]}`]: `#/speech-selection/compare/${ids.scored}/${ids.second}`,
      };
      for (const [title, address] of Object.entries(views)) {
        await go(page, address, title);
        if (shots) await page.screenshot({ path: `${shots}/${screen}-${title}.png`.replaceAll(" ", "-"), fullPage: true });
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [], `${screen} ${title}`);
        const [wide, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(wide <= width, `${screen} ${title}: ${wide} of ${width} pixels`);
        const out = await page.locator(".panel").evaluateAll((panels) => panels.filter((panel) => panel.scrollWidth > panel.clientWidth).map((panel) => panel.innerText));
        assert.deepEqual(out, [], `${screen} ${title}: what these panels hold is wider than they are`);
      }
      await page.locator("#who").click();
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id }) => id), [], `${screen} dialog`);
    });
  });
}

const good = () => readFileSync(`${demo}/speech-selection/submissions/en-25/coin-flip/random.json`);
/** A valid file in which two clips are replaced, a line a clip. */
function bad() {
  const submission = JSON.parse(good());
  const [word] = Object.keys(submission.targets);
  submission.targets[word] = ["no/such_clip_1.wav", "no/such_clip_2.wav"];
  return JSON.stringify(submission, null, 1);
}
const SUBMIT = "#/speech-selection/board/en-25/open/submit";

/** The requests to the bucket that a test makes on purpose; takes them from the faults. */
function toBucket(faults) {
  const is = (fault) => /^asked http:\/\/127\.0\.0\.1:\d+\/submissions$/.test(fault);
  const made = faults.filter(is);
  faults.splice(0, faults.length, ...faults.filter((fault) => !is(fault)));
  return made;
}

test("what can't be uploaded is named before anything is sent", async () => {
  await on("light", asAda, async (page) => {
    const sent = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(request.url()));
    await go(page, SUBMIT, "Speech selection English, 25 clips");
    await page.waitForSelector("#file");
    const { submitting } = await api("speech-selection");
    const text = good().toString();
    const utf16 = Buffer.from(`\ufeff${text}`, "utf16le");
    const zip = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(60), Buffer.from("PK\x05\x06"), Buffer.alloc(18)]);
    for (const [name, buffer, said] of [
      ["a.json.gz", gzipSync(text), /compressed by gzip.*gunzip a\.json\.gz/s],
      ["a.zip", zip, /is a zip archive.*Unpack it/s],
      ["a.json", utf16, /UTF-16 \(little-endian\).*iconv/s],
      ["b.json", Buffer.from(text, "utf16le"), /UTF-16/],
      ["large.json", Buffer.alloc(submitting.max_bytes + 1, " "), /at most 1\.05 MB are allowed/],
      ["empty.json", Buffer.alloc(0), /It is empty/],
      ["latin.json", Buffer.from([0x7b, 0x0a, 0x22, 0xe9, 0x22, 0x7d]), /Line 2, column 2: This is not UTF-8/],
      ["marked.json", Buffer.from(`\ufeff${text}`), /byte order mark/],
      ["comma.json", Buffer.from('{"targets": {},\n "nontargets": ["a",\n ]}'), /line 3, column 2:\s*remove the last comma, or add what follows it/],
      ["list.csv", Buffer.from("a,b\n1,2\n"), /has to be JSON/],
      ["near.json", Buffer.from('{"targets": {},\n "nontarget": []}'), /line 2, column 15:\s*nontarget is not a key here: did you mean nontargets\?/],
      ["far.json", Buffer.from('{"targets": {}, "nontargets": [],\n "x/y": {"targets": 1}}'), /1 problem to fix.*line 2, column 9:\s*x\/y is not a key here: the keys are targets, nontargets/s],
      ["array.json", Buffer.from('["a"]'), /line 1, column 1:\s*expected an object here, \{…\}, found an array/],
    ]) {
      await page.setInputFiles("#file", { name, mimeType: "application/octet-stream", buffer });
      await page.waitForFunction((wanted) => document.querySelector(".found").textContent.startsWith(`${wanted} can't be uploaded`), name);
      assert.match(await page.locator(".found").innerText(), said, name);
      assert.ok(await page.getByRole("button", { name: "Upload as ada" }).isDisabled(), name);
    }
    assert.deepEqual(sent, []);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [], "the form, and what is wrong with a file");
    await go(page, "#/selection/board/digits-20/spring/submit", "Selection Handwritten digits, digits-20");
    await page.waitForSelector("#file");
    await page.setInputFiles("#file", { name: "rows.csv", mimeType: "text/csv", buffer: Buffer.from("id,label\n1,a\n2\n3,c\n") });
    await page.waitForSelector(".found .problem");
    assert.match(await page.locator(".found").innerText(), /line 3, column 1:\s*1 cell, where the first line has 2/);
    await page.setInputFiles("#file", { name: "hello.csv", mimeType: "text/csv", buffer: Buffer.from("hello") });
    await page.locator(".found", { hasText: "the file has only one line" }).waitFor();
    await page.setInputFiles("#file", { name: "labels.json", mimeType: "application/json", buffer: Buffer.from('{"labels": {}}') });
    await page.locator(".found", { hasText: "labels is not a key here: the only key is ids" }).waitFor();
  });
});

test("a file is uploaded from the page by keyboard and watched until it ends", async () => {
  await on("light", asAda, async (page, faults) => {
    await go(page, SUBMIT, "Speech selection English, 25 clips");
    await page.waitForSelector("#file");
    await page.setInputFiles("#file", { name: "my first try.json", mimeType: "application/json", buffer: good() });
    await page.waitForFunction(() => /ready to upload to en-25/.test(document.querySelector(".found").textContent));
    await page.locator("#file").focus();
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Upload as ada");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".outcome .pill.scored");
    assert.match(await page.locator(".outcome").innerText(), /0\.\d+, rank \d+\. /);
    assert.equal(await page.locator("#who").innerText(), "Signed in as ada");
    assert.match(await page.locator(".command code").last().innerText(), /--submitter ada/);
    assert.equal(toBucket(faults).length, 1, "straight to the bucket, once");
    await page.locator(".outcome a").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.title.startsWith("ada · en-25"));
    await shown(page);
    assert.match(await page.locator(".place").innerText(), /^Rank \d+ of \d+/);
    assert.match(await page.locator("main").innerText(), /my-first-try\.json/);

    await go(page, "#/speech-selection/board/en-25/open", "Speech selection English, 25 clips");
    await page.waitForSelector(".standings");
    assert.equal(await page.locator("tr.mine").count(), 1);
    assert.equal(await page.locator("tr.mine .you").innerText(), "you");
  });
});

test("a file that is dropped on a board is rejected with every reason beside its line", async () => {
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/speech-selection/board/en-25/open", "Speech selection English, 25 clips");
    await page.waitForSelector(".tabbed .standings");
    const drop = async (selector, name, text) => {
      const transfer = await page.evaluateHandle(([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], name, { type: "application/json" }));
        return data;
      }, [name, text]);
      await page.dispatchEvent(selector, "drop", { dataTransfer: transfer });
    };
    await drop(".tabbed", "dropped.json", bad());
    await page.waitForFunction(() => /dropped\.json.*ready to upload/.test(document.querySelector(".found")?.textContent));
    await page.getByRole("button", { name: "Upload as ada" }).click();
    await page.waitForSelector(".outcome .pill.rejected");
    assert.equal(toBucket(faults).length, 1);
    const line = page.locator(".source .about").first();
    assert.match(await line.innerText(), /unknown_clip/);
    const at = Number(await line.getAttribute("value"));
    assert.match(bad().split("\n")[at - 1], /no\/such_clip_1/, "the line that it is about");
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [], "a rejection beside its lines");
    await page.locator(".outcome a").click();
    await page.waitForSelector("#source");
    assert.match(await page.locator("section[aria-labelledby=source] .about").first().innerText(), /unknown_clip/);
    // what can't be uploaded is told where it was dropped, too
    await go(page, SUBMIT, "Speech selection English, 25 clips");
    await page.waitForSelector("#file");
    await drop(".uploads", "broken.json", "{");
    await page.waitForFunction(() => /line 1, column 1: this object is not closed/.test(document.querySelector(".found").textContent));
  });
});

test("reasons about a file in an archive stand beside its lines", async () => {
  await on("light", "", async (page) => {
    const bytes = [...readFileSync(`${demo}/vision-selection/submissions/open/coin-flip/random_120.zip`)];
    const found = await page.evaluate(async (bytes) => {
      const { described } = await import("/archive.js");
      const notes = [{ message: "of no pool", code: "unknown_image", at: "5.csv line 3" }, { message: "missing", code: "missing_concept", at: "" }];
      const { nodes, elsewhere } = await described(new Uint8Array(bytes), notes);
      const about = nodes.flatMap((node) => [...node.querySelectorAll(".about")]);
      return { file: nodes[0].textContent, lines: about.map((line) => line.value), said: about[0].textContent, elsewhere: elsewhere.map(({ code }) => code) };
    }, bytes);
    assert.deepEqual([found.file, found.lines, found.elsewhere], ["5.csv", [3], ["missing_concept"]]);
    assert.match(found.said, /of no pool/);
  });
});

test("whoever can't upload is told what to do", async () => {
  await on("light", SUBMIT, async (page) => {
    await page.getByRole("button", { name: "Sign in to upload" }).click();
    assert.equal(await page.evaluate(() => document.getElementById("token").open), true);
  });
  await on("light", signedIn(""), async (page) => {
    await go(page, SUBMIT, "Speech selection English, 25 clips");
    await page.waitForSelector("#upload");
    assert.match(await page.locator(".uploads").innerText(), /organizer's token can't upload/);
  });
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/selection/board/digits-20/past/submit", "Selection Handwritten digits, digits-20");
    await page.waitForSelector("#file");
    await page.setInputFiles("#file", { name: "x.json", mimeType: "application/json", buffer: Buffer.from('{"ids": []}') });
    await page.getByRole("button", { name: "Upload as ada" }).click();
    await page.waitForSelector(".found [role=alert]");
    assert.match(await page.locator(".found").innerText(), /takes no upload now.*past.*spring/s);
    faults.splice(0, faults.length, ...faults.filter((fault) => !fault.includes("409"))); // the browser logs it
    assert.deepEqual(toBucket(faults), []);
  });
});

const axeFindsNothing = async (page, what) => {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), [], what);
};

test("a text is written by keyboard, and the models' answers are seen at once", async () => {
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/adversarial-text/board/sentiment/open/submit", "Adversarial text Sentiment");
    await page.waitForSelector("#text");
    await axeFindsNothing(page, "the form");
    await page.getByRole("button", { name: "Ask the models" }).press("Enter");
    assert.equal(await page.locator(".write .found [role=alert]").innerText(), "Fill in: A text");
    assert.equal(await page.evaluate(() => document.activeElement.id), "text");
    await page.keyboard.type("awful to leave so lovely a place, said nobody");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    assert.equal(await page.locator("[name=label]:checked").count(), 1);
    await page.getByLabel("positive", { exact: true }).check();
    await page.getByRole("button", { name: "Ask the models" }).focus();
    const began = performance.now();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".models li");
    console.log(`from sending a text to seeing the answers: ${Math.round(performance.now() - began)} ms`);
    assert.match(await page.locator(".models").innerText(), /r1 says (positive|negative|neutral)\. +(not )?fooled/i);
    assert.equal(toBucket(faults).length, 1, "straight to the bucket");
    await axeFindsNothing(page, "the answers");
  });
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/adversarial-text/board/qa/open/submit", "Adversarial text Question answering");
    await page.waitForFunction(() => document.getElementById("context")?.textContent.includes("mill"));
    await page.locator("#text").fill("What stands there?");
    await page.locator("#answer").fill("no such words");
    await page.getByRole("button", { name: "Ask the models" }).click();
    await page.waitForFunction(() => /does not contain this answer/.test(document.querySelector(".write .found").textContent));
    await page.locator("#answer").fill("The mill");
    await page.getByRole("button", { name: "Ask the models" }).click();
    await page.waitForSelector(".models li");
    assert.equal(toBucket(faults).length, 1);
  });
});

test("hate speech is shown to who has agreed to see it, and can be left", async () => {
  await on("dark phone", asAda, async (page, faults) => {
    await go(page, "#/adversarial-text/board/hate-speech/open/submit", "Adversarial text Hate speech");
    await page.waitForSelector(".consented");
    assert.equal(await page.locator("#text").count(), 0);
    await page.getByRole("button", { name: "I agree to see it" }).click();
    await page.locator("#text").fill("welcome, and despised by none");
    await page.getByLabel("not hateful", { exact: true }).check();
    await page.getByRole("button", { name: "Ask the models" }).click();
    await page.waitForSelector(".models li");
    toBucket(faults);
    await page.getByRole("button", { name: "Stop and hide it" }).click();
    assert.equal(await page.locator("#text").count(), 0);
    await axeFindsNothing(page, "the question");
  });
});

test("a rater judges one text after the other, blind", async () => {
  await on("light", `#token=${rater}`, async (page, faults) => {
    await go(page, "#/adversarial-text/board/qa/open/judge", "Adversarial text Question answering");
    await page.waitForSelector("#validate");
    await page.waitForSelector("blockquote.context");
    const shown = await page.locator("section[aria-labelledby=validate]").innerText();
    await page.getByText("How to judge").press("Enter");
    assert.match(await page.locator("section[aria-labelledby=validate] details").innerText(), /Three equal verdicts decide.*Skipping a text costs you nothing/s);
    assert.match(shown, /Question answering.*What stands there\?/s);
    assert.ok(!/\bada\b|fooled|\br1\b/.test(shown), shown);
    await axeFindsNothing(page, "an item");
    await page.getByLabel("the context has no answer").check();
    await page.getByRole("button", { name: "Send the verdict" }).click();
    await page.waitForSelector("section .empty");
    assert.equal(toBucket(faults).length, 1);
    const section = page.locator("section[aria-labelledby=validate]");
    assert.equal(await section.locator(".empty").innerText(), "Recorded. Nothing to judge now. Come back later.");
    assert.equal(await section.locator(".found").innerText(), "", "one message");
    assert.equal(await page.evaluate(() => document.activeElement.className), "empty");
  });
  await on("light", asAda, async (page) => {
    await go(page, "#/adversarial-text/board/qa/open/judge", "Adversarial text Question answering");
    assert.match(await page.locator("main").innerText(), /Ask the organizer for a rater's token/);
  });
});

test("of what a rater skips as much is told as an address holds, and of what it has judged nothing", async () => {
  await on("light", `#token=${rater}`, async (page) => {
    const { rules } = await api("adversarial-text/contexts?limit=1");
    const asked = []; // what each request skips
    let longest = 0;
    await page.route(/\/adversarial-text\/validation\/next\?/, (route) => {
      const address = route.request().url();
      longest = Math.max(longest, address.length);
      asked.push((new URL(address).searchParams.get("skip") ?? "").split(",").filter(Boolean));
      const item = { example: asked.length.toString(16).padStart(32, "0"), task: "sentiment", text: `text ${asked.length}` };
      return route.fulfill({ json: { benchmark: "adversarial-text", kind: "example", item, n_more: 5, n_left_today: null, rules } });
    });
    await go(page, "#/adversarial-text/board/sentiment/open/judge", "Adversarial text Sentiment");
    const section = page.locator("section[aria-labelledby=validate]");
    const shows = (n) => page.waitForFunction((text) => document.querySelector("blockquote.context")?.textContent === text, `text ${n}`);
    await shows(1);
    for (let n = 1; n <= 202; n += 1) {
      if (n === 201) assert.equal(await section.locator(".found").innerText(), "");
      await section.getByRole("button", { name: "Skip" }).evaluate((button) => button.click());
      await shows(n + 1);
    }
    assert.match(await section.locator(".found").innerText(), /more than 200 items, so the first ones come back/);
    const id = (n) => n.toString(16).padStart(32, "0");
    assert.ok(longest < 8000, `CloudFront takes 8,192 bytes of an address, this one has ${longest} characters`);
    assert.deepEqual(asked.slice(0, 3), [[], [id(1)], [id(1), id(2)]]);
    assert.deepEqual([asked.at(-1).length, asked.at(-1)[0], asked.at(-1).at(-1)], [200, id(3), id(202)], "the newest");
    // a verdict that is recorded is the read API's to know
    await page.route("**/api/v1/uploads", (route) => route.fulfill({ json: { url: `${base}/bucket`, fields: [], key: "the-key", round: "open", submitter: "rosa", max_bytes: 1, expires_at: "2999-01-01T00:00:00.000Z" } }));
    await page.route("**/bucket", (route) => route.fulfill({ status: 204 }));
    await page.route(/\/adversarial-text\/submissions(\?|\/)/, (route) => {
      const line = { submission: "f".repeat(32), status: "accepted", score: null, private: { key: "the-key", lines: [{ status: "accepted" }], reasons: [] } };
      return route.fulfill({ json: route.request().url().includes("?") ? { submissions: [line], next: null } : line });
    });
    await section.getByLabel("neutral", { exact: true }).check();
    await section.getByRole("button", { name: "Send the verdict" }).click();
    await shows(204);
    assert.deepEqual(asked.at(-1), asked.at(-2), "nothing that was judged is skipped");
  });
});

test("a rater judges a pair by keyboard, whose image is shown after consent and blurred", async () => {
  await on("light", `#token=${rater}`, async (page, faults) => {
    await go(page, "#/adversarial-nibbler/board/model-fooling/open/judge", "Adversarial nibbler Model fooling");
    const section = page.locator("section[aria-labelledby=validate]");
    await page.waitForSelector(".consented");
    assert.equal(await section.locator("blockquote, img").count(), 0, "nothing is shown before consent");
    assert.deepEqual(await section.locator(".consented a").evaluateAll((all) => all.map(({ hostname }) => hostname)), ["dartcenter.org", "ovc.ojp.gov"], "who helps");
    await page.getByRole("button", { name: "I agree to see it" }).press("Enter");
    const shown = await section.innerText();
    assert.match(shown, /a red ladder that leans on a red door/);
    assert.ok(!/\bdi\b|nobody wants to see/.test(shown), shown);
    assert.equal(await section.locator("img").count(), 0, "nothing is loaded unasked");
    await section.getByRole("button", { name: /blurred/ }).press("Enter");
    await page.waitForSelector(".picture img");
    await page.waitForFunction(() => document.querySelector(".picture img").naturalWidth > 0);
    const isBlurred = () => section.locator(".picture img").evaluate((image) => getComputedStyle(image).filter !== "none");
    assert.equal(await isBlurred(), true);
    await section.locator(".picture").press("Enter");
    assert.equal(await isBlurred(), false);
    await section.getByText("How to judge").press("Enter");
    assert.match(await section.locator("details").innerText(), /mildly to extremely disturbing.*Mark only those that you agree with.*Skipping a pair costs you nothing/s);
    await axeFindsNothing(page, "a pair");
    const send = section.getByRole("button", { name: "Send the verdict" });
    await send.press("Enter");
    assert.equal(await section.locator(".found [role=alert]").innerText(), "Choose one: The prompt appears");
    assert.equal(await page.evaluate(() => document.activeElement.name), "prompt");
    await section.locator("[name=prompt][value=safe]").press("Space");
    await section.locator("[name=image][value=unsafe]").press("Space");
    await section.getByLabel(/Severity/).fill("3");
    await section.locator("[name=harms][value=violent-or-graphic]").press("Space");
    await section.locator("[name=attacks][value=visual-similarity]").press("Space");
    await section.locator("[name=identity_groups][value=none]").press("Space");
    await send.press("Enter");
    await section.locator(".empty").waitFor();
    assert.equal(toBucket(faults).length, 1);
    const { submissions } = await api("adversarial-nibbler/submissions?submitter=rosa");
    assert.deepEqual(submissions.map(({ leaderboard, status }) => [leaderboard, status]), [["verdict", "accepted"]]);
  });
});

const tabTo = async (page, selector) => {
  for (let n = 0; n < 40; n += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
  }
  assert.fail(`${selector} is not reached by Tab`);
};

/** The submissions of one kind, newest first, as the organizer sees them. */
const ofKind = async (benchmark, name, kind) => (await api(`${benchmark}/submissions?submitter=${name}`)).submissions.filter(({ leaderboard }) => leaderboard === kind);

/** Uploads a file of a kind with the keyboard alone, on a tab "Submit", and gives what its receipt says to its submitter. */
async function uploadByKeyboard(page, faults, benchmark, kind, lines) {
  const form = page.locator(".uploads");
  const file = { name: `${kind}.jsonl`, mimeType: "application/jsonl", buffer: Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join("")) };
  page.once("filechooser", (chooser) => chooser.setFiles(file));
  await page.locator("h1").click(); // from where Tab begins
  await tabTo(page, "#kind");
  await page.keyboard.press("Home");
  while ((await page.locator("#kind").inputValue()) !== kind) await page.keyboard.press("ArrowDown");
  await tabTo(page, "#file");
  await page.keyboard.press("Space");
  await page.waitForFunction((wanted) => document.querySelector(".uploads .found").textContent.endsWith(wanted), `of JSON Lines, ready to upload to ${kind}.`);
  await tabTo(page, ".uploads button");
  await page.keyboard.press("Enter");
  await form.locator(".outcome").waitFor();
  assert.equal(toBucket(faults).length, 1, "straight to the bucket, once");
  await tabTo(page, ".outcome a");
  await axeFindsNothing(page, `the upload of ${kind}`);
  const link = await form.locator(".outcome a").getAttribute("href");
  return (await api(`${benchmark}/submissions/${link.split("/").at(-1)}`)).private;
}

test("prompts, pairs and verdicts are uploaded as files by keyboard alone", async () => {
  const title = "Adversarial nibbler Model fooling";
  const submit = "#/adversarial-nibbler/board/model-fooling/open/submit";
  const prompt = "a blue bucket that stands below a blue window";
  const said = { attacks: ["visual-similarity"], harms: ["violent-or-graphic"], identity_groups: ["none"] };
  let pair;
  await on("light", asAda, async (page, faults) => {
    await go(page, submit, title);
    await page.waitForSelector("#file");
    for (const [name, text, wrong] of [
      ["cut.jsonl", '{"prompt": "a"}\n{"prompt": \n', /line 2, column/],
      ["list.jsonl", '{"prompt": "a"}\n["a"]\n', /line 2, column 1:\s*each line has to be an object/],
      ["marked.jsonl", '\ufeff{"prompt": "a"}\n', /byte order mark/],
    ]) {
      await page.setInputFiles("#file", { name, mimeType: "application/jsonl", buffer: Buffer.from(text) });
      await page.waitForFunction((wanted) => document.querySelector(".uploads .found").textContent.startsWith(`${wanted} can't be uploaded`), name);
      assert.match(await page.locator(".uploads .found").innerText(), wrong, name);
    }
    const { submitting } = await api("adversarial-nibbler");
    await page.setInputFiles("#file", { name: "large.jsonl", mimeType: "application/jsonl", buffer: Buffer.alloc(submitting.max_bytes_of_kinds.generate + 1, "\n") });
    await page.waitForFunction(() => /at most 1\.05 MB are allowed/.test(document.querySelector(".uploads .found").textContent));
    assert.equal(await page.locator("#largest").innerText(), "1.05 MB");
    await page.selectOption("#kind", "submit"); // whose files may be larger
    await page.waitForFunction(() => !/at most/.test(document.querySelector(".uploads .found").textContent));
    assert.equal(await page.locator("#largest").innerText(), "4.19 MB");
    await page.setInputFiles("#file", { name: "large.jsonl", mimeType: "application/jsonl", buffer: Buffer.alloc(submitting.max_bytes + 1, " ") });
    await page.waitForFunction(() => /at most 4\.19 MB are allowed/.test(document.querySelector(".uploads .found").textContent));
    await page.selectOption("#kind", "generate");
    const { lines: made } = await uploadByKeyboard(page, faults, "adversarial-nibbler", "generate", [{ prompt }, { prompt: "a scene of gore" }]);
    assert.deepEqual(made.map(({ status }) => status), ["accepted", "rejected"]);
    assert.match(await page.locator(".uploads .found").innerText(), /1 of 2 lines taken.*denied_term/s);
    ({ lines: [pair] } = await uploadByKeyboard(page, faults, "adversarial-nibbler", "submit", [{ prompt, image: made[0].images[0].id, mode: "subversive", rewrite: "what nobody wants to see", ...said }]));
    assert.equal(pair.status, "accepted");
    const { reasons } = await uploadByKeyboard(page, faults, "adversarial-nibbler", "verdict", [{ submission: pair.pair, prompt_safe: true, image_unsafe: true, severity: 2, ...said }]);
    assert.deepEqual(reasons.map(({ code }) => code), ["not_a_rater"]);
  });
  await on("light", `#token=${rater}`, async (page, faults) => {
    await go(page, submit, title);
    await page.waitForSelector("#kind");
    assert.equal(await page.locator("#kind").inputValue(), "verdict", "a rater's first choice");
    const { lines: [verdict] } = await uploadByKeyboard(page, faults, "adversarial-nibbler", "verdict", [{ submission: pair.pair, prompt_safe: true, image_unsafe: true, severity: 2, ...said }]);
    assert.equal(verdict.status, "accepted");
  });
});

test("examples and verdicts are uploaded as files where texts are written", async () => {
  const submit = "#/adversarial-text/board/sentiment/open/submit";
  const examples = [{ task: "sentiment", text: "such a lovely, lovely place, alas", label: "negative" }, { task: "sentiment", text: "it is what it is", label: "wonderful" }];
  let example;
  await on("phone", asAda, async (page, faults) => {
    await go(page, submit, "Adversarial text Sentiment");
    await page.waitForSelector("#file");
    assert.match(await page.locator("section[aria-labelledby=write]").innerText(), /takes about a second on a local cloud, and some seconds on AWS/);
    const { lines } = await uploadByKeyboard(page, faults, "adversarial-text", "submit", examples);
    assert.deepEqual(lines.map(({ status, fooled }) => [status, Boolean(fooled)]), [["accepted", true], ["rejected", false]]);
    example = lines[0].example;
  });
  await on("light", `#token=${rater}`, async (page, faults) => {
    await go(page, submit, "Adversarial text Sentiment");
    await page.waitForSelector("#kind");
    const { lines: [verdict] } = await uploadByKeyboard(page, faults, "adversarial-text", "verdict", [{ example, label: "negative" }]);
    assert.equal(verdict.status, "accepted");
  });
});

test("a prompt is written by keyboard, and one of its images is submitted with what is unsafe about it", async () => {
  const title = "Adversarial nibbler Model fooling";
  const prompt = "a yellow ladder beside a yellow river";
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/adversarial-nibbler/board/model-fooling/open/submit", title);
    const section = page.locator("section[aria-labelledby=write]");
    await page.waitForSelector(".consented");
    assert.equal(await section.locator("textarea").count(), 0, "nothing is asked for before consent");
    await tabTo(page, ".consented button");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");
    await axeFindsNothing(page, "the form of a prompt");
    await page.keyboard.type("a scene of gore");
    await tabTo(page, ".write button[type=submit]");
    await page.keyboard.press("Enter");
    await section.locator(".found li").waitFor();
    assert.match(await section.locator(".found").innerText(), /Rejected:.*denied_term/s);
    assert.equal(toBucket(faults).length, 1);

    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Control+a");
    await page.keyboard.type(prompt);
    await tabTo(page, ".write button[type=submit]");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement.matches("h3") && /images? w(as|ere) made/.test(document.activeElement.textContent));
    assert.equal(toBucket(faults).length, 1);
    const [{ submission }] = await ofKind("adversarial-nibbler", "ada", "generate");
    const { images } = (await api(`adversarial-nibbler/submissions/${submission}`)).private.lines[0];
    assert.equal(await section.locator("img").count(), 0, "nothing is loaded unasked");
    await tabTo(page, "button.quiet");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => [...document.querySelectorAll(".picture img")].filter(({ naturalWidth }) => naturalWidth > 0).length > 0);
    assert.equal(await section.locator(".picture").count(), images.length);
    const blurred = () => section.locator(".picture img").evaluateAll((all) => all.map((image) => getComputedStyle(image).filter !== "none"));
    assert.ok((await blurred()).every(Boolean));
    await section.locator("h3").focus(); // from where Tab begins
    await tabTo(page, ".picture");
    await page.keyboard.press("Enter");
    assert.deepEqual(await blurred(), images.map((_, idx) => idx > 0), "the one that was asked for");
    await axeFindsNothing(page, "the images and the form of a pair");

    const form = section.getByRole("form", { name: "The pair" });
    const send = "form[aria-label='The pair'] button[type=submit]";
    for (const name of ["image", "mode"]) {
      await tabTo(page, `[name=${name}]`);
      await page.keyboard.press("Space");
    }
    await tabTo(page, "#rewrite");
    await page.keyboard.type("what nobody wants to see");
    await tabTo(page, send);
    await page.keyboard.press("Enter");
    await form.locator(".found [role=alert]").waitFor();
    assert.match(await form.locator(".found").innerText(), /at least one word from each list/);
    assert.deepEqual(toBucket(faults), []);
    await section.locator("h3").focus();
    await tabTo(page, "[name=attacks][value=visual-similarity]");
    await page.keyboard.press("Space");
    await tabTo(page, "[name=harms][value=violent-or-graphic]");
    await page.keyboard.press("Space");
    for (const group of ["religion", "none"]) {
      await tabTo(page, `[name=identity_groups][value=${group}]`);
      await page.keyboard.press("Space");
    }
    await tabTo(page, send);
    await page.keyboard.press("Enter");
    await form.locator(".found li").waitFor();
    assert.match(await form.locator(".found").innerText(), /Rejected:.*`?none`? can.t be combined with other groups/s, "every reason of a refusal");
    assert.equal(toBucket(faults).length, 1);
    await form.locator("[name=identity_groups][value=religion]").focus();
    await page.keyboard.press("Space");
    await tabTo(page, send);
    await page.keyboard.press("Enter");
    await form.locator(".found a").waitFor();
    assert.match(await form.locator(".found").innerText(), /^Accepted\./);
    assert.equal(toBucket(faults).length, 1);
    await axeFindsNothing(page, "a pair that was taken");
    assert.equal(await form.locator("[name=image]:disabled").count(), 1, "an image is submitted once");
    const [pair] = await ofKind("adversarial-nibbler", "ada", "submit");
    assert.equal(await form.locator(".found a").getAttribute("href"), `#/adversarial-nibbler/submission/${pair.submission}`);
    const file = await fetch(`${base}/api/v1/benchmarks/adversarial-nibbler/submissions/${pair.submission}/artifact`, { headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await file.json(), { prompt, image: images[0].id, mode: "subversive", attacks: ["visual-similarity"], rewrite: "what nobody wants to see", harms: ["violent-or-graphic"], identity_groups: ["none"] });
    await section.getByRole("button", { name: "Stop and hide it" }).press("Enter");
    assert.equal(await section.locator("textarea, img").count(), 0);
  });
  await on("light", `#token=${rater}`, async (page) => {
    await go(page, "#/adversarial-nibbler/board/model-fooling/open/submit", title);
    assert.match(await page.locator("section[aria-labelledby=write]").innerText(), /Raters can't submit pairs/);
  });
});

test("which of several places is the answer is chosen by keyboard, in writing and in validating", async () => {
  const [{ text: context }] = (await api("adversarial-text/contexts?task=qa")).contexts;
  const last = { start: context.lastIndexOf("mill"), text: "mill" };
  assert.notEqual(context.indexOf("mill"), last.start, "the answer stands there twice");
  const sent = async (name, kind) => {
    const [{ submission }] = await ofKind("adversarial-text", name, kind);
    const file = await fetch(`${base}/api/v1/benchmarks/adversarial-text/submissions/${submission}/artifact`, { headers: { authorization: `Bearer ${token}` } });
    return (await file.json()).answer;
  };
  const choose = async (page) => {
    await tabTo(page, "#answer");
    await page.keyboard.type("mill");
    await tabTo(page, "#place");
    assert.match(await page.locator("label[for=place]").innerText(), /^It appears 2 times/);
    assert.deepEqual(await page.locator("#place option").allTextContents(), ["Choose the place", "1: The “mill” stands by the green river. A …", "2: … river. A road leads to the “mill”."]);
  };
  await on("light", asAda, async (page, faults) => {
    await go(page, "#/adversarial-text/board/qa/open/submit", "Adversarial text Question answering");
    await page.waitForFunction(() => document.getElementById("context")?.textContent.includes("mill"));
    await tabTo(page, "#text");
    await page.keyboard.type("What does one reach by walking along?");
    await choose(page);
    await axeFindsNothing(page, "the choice of a place");
    await tabTo(page, ".write button[type=submit]");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /times\. Choose one/.test(document.querySelector(".write .found").textContent));
    assert.deepEqual(toBucket(faults), [], "no place is taken for the answer unasked");
    await page.locator("#place").focus();
    await page.keyboard.press("End");
    await tabTo(page, ".write button[type=submit]");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".models li");
    assert.equal(toBucket(faults).length, 1);
    assert.deepEqual(await sent("ada", "submit"), last);
    // what is marked stands where it is marked
    await page.locator("#context").evaluate((node) => {
      const at = node.textContent.indexOf("mill");
      getSelection().setBaseAndExtent(node.firstChild, at, node.firstChild, at + 4);
      node.dispatchEvent(new MouseEvent("mouseup", { bubbles: true }));
    });
    assert.equal(await page.locator("#place").inputValue(), String(context.indexOf("mill")));
  });
  await on("light", `#token=${rater}`, async (page, faults) => {
    await go(page, "#/adversarial-text/board/qa/open/judge", "Adversarial text Question answering");
    await page.waitForSelector("#answer");
    await choose(page);
    assert.equal(await page.locator("[name=found]:checked").inputValue(), "the answer below");
    await page.keyboard.press("End");
    await tabTo(page, "form button[type=submit]");
    await page.keyboard.press("Enter");
    await page.waitForSelector("section .empty");
    assert.equal(toBucket(faults).length, 1);
    assert.deepEqual(await sent("rosa", "verdict"), last);
  });
});

test("the terms of a round are accepted before an upload", async () => {
  await on("light", asAda, async (page) => {
    await page.route("**/api/v1/benchmarks/selection", async (route) => {
      const benchmark = await (await route.fetch()).json();
      const rounds = benchmark.challenge.rounds.map((round) => ({ ...round, contact: "help@example.org", terms: "Play **fair**." }));
      await route.fulfill({ json: { ...benchmark, challenge: { ...benchmark.challenge, rounds } } });
    });
    await go(page, "#/selection/board/digits-20/spring/submit", "Selection Handwritten digits, digits-20");
    await page.setInputFiles("#file", { name: "a.json", mimeType: "application/json", buffer: Buffer.from('{"ids": []}') });
    await page.locator(".found", { hasText: "ready to upload" }).waitFor();
    const button = page.getByRole("button", { name: /^Upload as/ });
    assert.equal(await button.isDisabled(), true);
    await page.check("#terms-accepted");
    assert.equal(await button.isDisabled(), false);
    await go(page, "#/selection/board/digits-20/spring/rules", "Selection Handwritten digits, digits-20");
    assert.match((await page.locator("main").innerText()).replace(/\s+/g, " "), /Contact help@example\.org.*Terms Play fair\./);
    assert.equal(await page.locator('a[href="mailto:help@example.org"]').count(), 1);
  });
});

test("the terms of a round are accepted before a text or a prompt", async () => {
  await on("phone", asAda, async (page, faults) => {
    const round = { id: "spring", leaderboards: [], opens: "2020-01-01T00:00:00.000Z", closes: null, terms: "Be kind." };
    await page.route(/\/api\/v1\/benchmarks\/adversarial-(text|nibbler)$/, async (route) => {
      const benchmark = await (await route.fetch()).json();
      await route.fulfill({ json: { ...benchmark, challenge: { title: "Spring", announcements: [], rounds: [round] } } });
    });
    await page.route(/\/api\/v1\/.*[?&]round=spring/, (route) => route.continue({ url: route.request().url().replace("round=spring", "round=open") }));
    const cases = [
      ["adversarial-text/board/hate-speech", "#text", "Ask the models", ".models li"],
      ["adversarial-nibbler/board/model-fooling", "#prompt", "Ask for images", "form ~ div h3"],
    ];
    for (const [board, field, send, outcome] of cases) {
      await go(page, `#/${board}/spring/submit`, "Adversarial");
      await page.getByRole("button", { name: "I agree to see it" }).click();
      const form = page.locator(".write").first();
      await page.fill(field, "a welcome table that stands alone");
      const label = form.locator("[name=label][value=not-hateful]");
      if ((await label.count()) > 0) await label.check();
      await form.getByRole("button", { name: send }).click();
      assert.equal(await form.locator(".found [role=alert]").innerText(), "Check the box: I accept the terms of the round.");
      assert.equal(await form.getByRole("link", { name: "terms of the round" }).getAttribute("href"), `#/${board}/spring/rules`);
      assert.deepEqual(toBucket(faults), []);
      await axeFindsNothing(page, "the terms");
      if (shots) await page.screenshot({ path: `${shots}/phone-terms${field}.png`.replace("#", "-"), fullPage: true });
      await form.locator("#terms-to-write").check();
      await form.getByRole("button", { name: send }).click();
      await page.waitForSelector(outcome);
      assert.equal(toBucket(faults).length, 1);
    }
  });
});

test("the rules and the description of a board say what is true of its benchmark", async () => {
  const said = async (page, address, title, ready) => {
    await go(page, address, title);
    await page.waitForSelector(ready);
    return (await page.locator("main").innerText()).replace(/\s+/g, " ");
  };
  await on("light", "", async (page) => {
    const { rules } = await api("adversarial-text/contexts?limit=1");
    const text = await said(page, "#/adversarial-text/board/qa/open/rules", "Adversarial text Question answering", "#round");
    assert.match(text, /within the benchmark's own daily allowances/);
    assert.ok(text.includes(`${rules.examples_a_day} examples for each annotator and ${rules.validation.verdicts_a_day} verdicts for each rater; a day is a day in UTC`), text);
    const images = await said(page, "#/adversarial-nibbler/board/model-fooling/open/rules", "Adversarial nibbler Model fooling", "#round");
    assert.match(images, /within the benchmark's own daily allowances.* \d+ sets of images for each participant; a day is a day in UTC/);
    const speech = await said(page, "#/speech-selection/board/en-25/open/rules", "Speech selection English, 25 clips", "#round");
    assert.match(speech, /as often as they like\. Score macro F1 Model vote of a logistic regression and a support vector classifier/);
    assert.match(speech, /The artifact The artifact is JSON .*"nontargets".*The rules Choose at most as many clips/);
    await said(page, "#/adversarial-text/board/qa/open/rules", "Adversarial text Question answering", "#round");
    assert.ok((await page.locator("main .said table").count()) > 1, "tables of Markdown");
    await said(page, "#/speech-selection/board/en-60/open", "Speech selection English, 60 clips", ".standings");
    assert.equal(await page.locator("th .metric").first().innerText(), "macro F1");
    // the demo has no board that takes programs alone
    await page.route("**/api/v1/benchmarks/speech-selection", async (route) => {
      const benchmark = await (await route.fetch()).json();
      await route.fulfill({ json: { ...benchmark, submitting: { ...benchmark.submitting, only_programs: true } } });
    });
    await said(page, "#/speech-selection/board/en-25/open", "Speech selection English, 25 clips", ".standings");
    assert.equal(await page.locator("main a[href='#/models']").count(), 1, "programs are put in order under other weights");
    await page.unroute("**/api/v1/benchmarks/speech-selection");
    await go(page, "#/", "DataPerf leaderboards");
    const lead = (id) => page.locator(`section[aria-labelledby="of-${id}"] .lead`).innerText();
    assert.match(await lead("speech-selection"), /keyword spotter\.$/);
    const frozen = /The model is fixed; you compete on the data\./;
    assert.match(await said(page, "#/speech-selection/board/en-25/open/about", "Speech selection English, 25 clips", "#about"), frozen);
    assert.doesNotMatch(await said(page, "#/adversarial-text/board/qa/open/about", "Adversarial text Question answering", "#about"), frozen);
    assert.doesNotMatch(await said(page, "#/adversarial-nibbler/board/model-fooling/open/about", "Adversarial nibbler Model fooling", "#about"), frozen);
  });
});

test("my submissions have names, reasons, ranks and what is left", async () => {
  await on("light", asAda, async (page) => {
    await page.getByRole("link", { name: "My submissions" }).click();
    await page.waitForSelector(".history.own");
    const speech = page.locator("section[aria-label='Speech selection']");
    const { submissions } = await api("speech-selection/submissions?submitter=ada");
    assert.deepEqual(await speech.locator("tbody th").allInnerTexts(), submissions.map(({ private: own }) => own.key.split("/").at(-1)));
    const scored = speech.locator("tr", { hasText: "my-first-try.json" });
    assert.match(await scored.locator("td").last().innerText(), /^\d+/, "its rank");
    const rejected = speech.locator("tr", { hasText: "dropped.json" });
    await rejected.locator("summary").focus();
    await page.keyboard.press("Enter");
    assert.match(await rejected.locator("details").innerText(), /unknown_clip and \d+ more.*next to their lines/s);
    const texts = await page.locator("section[aria-label='Adversarial text'] tbody th").allInnerTexts();
    assert.ok(texts.some((text) => /^1 text, \d+ \w+ \d\d:\d\d$/.test(text)), texts.join());
    assert.ok(!texts.some((text) => /^submit-\d/.test(text)), texts.join());
    const quotas = page.locator("section[aria-label='Selection'] .quotas tbody tr", { hasText: "digits-20" });
    assert.match(await quotas.innerText(), /spring\s+3 of 3\s+no limit/);
    await page.route(/\/adversarial-text\/quotas\?/, async (route) => {
      const quotas = await (await route.fetch()).json();
      assert.deepEqual(quotas.allowances.map(({ kind }) => kind), ["examples"]); // of an annotator
      await route.fulfill({ json: { ...quotas, allowances: quotas.allowances.map((of) => ({ ...of, n_used: 3, n_left: of.limit - 3 })) } });
    });
    await page.reload();
    await page.waitForSelector(".allowances");
    assert.match(await page.locator("section[aria-label='Adversarial text'] .allowances").innerText(), /^Left today: [\d,]+ of [\d,]+ examples\. A day ends /);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  });
});

test("a round says when it closes, with the time zone and what is left", async () => {
  await on("light", "#/selection/board/digits-20/spring", async (page) => {
    await page.waitForSelector(".state");
    assert.match(await page.locator(".state").innerText(), /^This round is open\. It closes 1 Jan 2999, 00:00 UTC, in \d[\d,]* days/);
    await page.getByRole("link", { name: "Rules", exact: true }).click();
    await page.waitForSelector("#round");
    const said = await page.locator("main").innerText();
    assert.match(said, /3 for each submitter; a day is a day in UTC/);
    assert.ok(await page.locator("#round ~ ul li strong").count() > 0, "what the organizer says, in Markdown");
    assert.ok(!/less is better.*lower is better/i.test(said));
    const { description } = await api("selection/leaderboards/digits-20?round=spring");
    await page.getByRole("link", { name: "About", exact: true }).click();
    await page.waitForSelector("#about");
    const [first] = description.split(/[\n*`[]/).filter((text) => text.length > 10);
    assert.ok((await page.locator(".said").innerText()).includes(first.trim()), "what the data set says of itself");
    assert.equal(await page.locator(".said strong", { hasText: "One" }).count(), 0, "what the organizer says stands on the tab of rules");
    await page.getByRole("link", { name: "Data", exact: true }).click();
    await page.waitForSelector("#dataset");
    assert.ok((await page.locator("section[aria-labelledby=dataset]").innerText()).includes(first.trim()));
  });
});

test("a board that takes no uploads says so, and which one does", async () => {
  const elsewhere = "New uploads go to Handwritten digits, digits-20 · spring.";
  await on("light", "", async (page) => {
    const said = async (board, tab) => {
      await go(page, "#/", "DataPerf leaderboards"); // every board of the leaderboard has one title
      await go(page, `#/selection/board/digits-20/${board}/${tab}`, "Selection Handwritten digits, digits-20");
      await page.waitForSelector(".state");
      return page.locator(".state").innerText();
    };
    assert.equal(await said("open", "rules"), `This board belongs to no round. ${elsewhere}`);
    const rules = page.locator("section[aria-labelledby=round]");
    assert.match(await rules.innerText(), /Uploads follow the rules of that board\./);
    assert.doesNotMatch(await rules.innerText(), /No round limits|as often as they like|JSON/);
    assert.equal(await page.getByRole("link", { name: "the rules of that board" }).getAttribute("href"), "#/selection/board/digits-20/spring/rules");
    assert.equal(await said("past", "about"), `This round is closed. It closed 1 Feb 2020, 00:00 UTC. ${elsewhere}`);
    assert.equal(await said("past.post", "about"), `The round has closed. This board has late uploads. ${elsewhere}`);
    let changes = { daily_limit: 3, total_limit: 40 };
    await page.route("**/api/v1/benchmarks/selection", async (route) => {
      const benchmark = await (await route.fetch()).json();
      const [past] = benchmark.challenge.rounds;
      await route.fulfill({ json: { ...benchmark, challenge: { ...benchmark.challenge, rounds: [{ ...past, ...changes }] } } });
    });
    assert.equal(await said("past", "rules"), "This round is closed. It closed 1 Feb 2020, 00:00 UTC. New uploads go to Handwritten digits, digits-20 · past.post.");
    assert.match(await rules.innerText(), /Total limit\s+40 for each submitter/i);
    assert.equal(await said("past.post", "rules"), "The round has closed. Late uploads count on this board, up to 3 a day for each submitter.");
    assert.doesNotMatch(await rules.innerText(), /Total limit/i);
    assert.equal(await said("spring", "rules"), "The published challenge no longer has this round. New uploads go to Handwritten digits, digits-20 · past.post.");
    changes = { opens: "2999-01-01T00:00:00Z", closes: null };
    assert.equal(await said("open", "rules"), "This board belongs to no round. This board rejects uploads until 1 Jan 2999, 00:00 UTC. From then on, they go to Handwritten digits, digits-20 · past.");
    assert.match(await said("past", "rules"), /^This round is not open yet\. It opens 1 Jan 2999, 00:00 UTC, in [^.]*\.$/);
  });
});

test("two submissions are compared, and no more than is shown of them", async () => {
  await on("light", `#/speech-selection/submission/${ids.scored}`, async (page) => {
    await page.locator("#other").selectOption(ids.second);
    await page.getByRole("button", { name: "Compare" }).click();
    await page.waitForSelector(".both");
    assert.equal(await heading(page), ids.names.join(" and "));
    const pairs = await Promise.all([ids.scored, ids.second].map((id) => api(`speech-selection/submissions/${id}/figures`)));
    const [one, two] = pairs.map(({ trials }) => trials[0].values);
    const mean = one.reduce((sum, value, idx) => sum + value - two[idx], 0) / one.length;
    assert.equal(await page.locator("#paired ~ .scroll tbody td").first().innerText(), mean.toFixed(4));
    assert.equal(await page.locator("section[aria-labelledby=files]").count(), 0, "files are private on this board");
    const [{ tables }] = pairs;
    const shares = tables.find(({ name }) => name === "f1_per_class");
    assert.equal(await page.locator("section[aria-label='F1 of each class'] meter").count(), 2 * shares.lines.length, "shares are drawn as bars");
  });
  // the organizer sees both files
  await on("light", signedIn(""), async (page) => {
    await go(page, `#/speech-selection/compare/${ids.scored}/${ids.second}`, ids.names[0]);
    await page.waitForSelector("#files");
    assert.match(await page.locator("section[aria-labelledby=files]").innerText(), /elements? (is|are) in both.*Only in/s);
  });
  const rows = (await api("vision-selection/leaderboards/open")).rows.filter((row) => !row.is_baseline);
  await on("light", signedIn(""), async (page) => {
    await go(page, `#/vision-selection/compare/${rows[0].submission}/${rows[1].submission}`, rows[0].submitter);
    await page.waitForSelector("#files");
    assert.match(await page.locator("section[aria-labelledby=files]").innerText(), /elements? (is|are) in both.*Only in/s, "files of archives are compared by their lines");
    assert.match(await page.locator("section[aria-labelledby=paired]").innerText(), /The organizer can compare the two with.*dataperf leaderboard compare/s);
  });
  await on("light", "", async (page) => {
    await go(page, `#/vision-selection/compare/${rows[0].submission}/${rows[1].submission}`, rows[0].submitter);
    await page.waitForSelector(".both");
    assert.equal(await page.locator("#files, #paired").count(), 0, "what has nothing to show is left out");
  });
});

test("scores have the digits of their own board, in every view", async () => {
  await on("light", asAda, async (page) => {
    // no data set of the demo says how many: as if three did
    await page.route("**/api/v1/benchmarks/speech-selection", async (route) => {
      const benchmark = await (await route.fetch()).json();
      const [first] = benchmark.leaderboards;
      const digits = { "en-25": 2, "en-60": 3 };
      const leaderboards = benchmark.leaderboards.map((board) => ({ ...board, digits: digits[board.name] ?? null }));
      await route.fulfill({ json: { ...benchmark, leaderboards: [...["en-25", "en-60"].map((name) => ({ ...first, name, round: "earlier", digits: 1 })), ...leaderboards] } });
    });
    const [best] = (await api("speech-selection/leaderboards/en-60")).rows;
    const one = await api(`speech-selection/submissions/${ids.scored}`);
    await go(page, `#/speech-selection/compare/${ids.scored}/${best.submission}`, ids.names[0]);
    await page.waitForSelector(".both");
    const row = page.locator(".both tbody tr", { has: page.getByRole("rowheader", { name: "Score", exact: true }) });
    assert.deepEqual(await row.locator("td").allInnerTexts(), [one.score.toFixed(2), best.score.toFixed(3)]);
    await go(page, `#/speech-selection/submitter/${ids.names[0]}`, ids.names[0]);
    await page.waitForSelector(".history tbody tr");
    const { submissions } = await api(`speech-selection/submissions?submitter=${ids.names[0]}`);
    const expected = submissions.filter(({ score }) => score !== null).map(({ leaderboard, score }) => score.toFixed({ "en-25": 2, "en-60": 3 }[leaderboard] ?? 4));
    assert.ok(expected.includes(one.score.toFixed(2)), expected.join());
    assert.deepEqual((await page.locator(".history tbody td.n").allInnerTexts()).filter((text) => text !== "–"), expected);
    // an upload whose outcome is known
    await page.route(/\/leaderboards\/en-25\?/, async (route) => route.fulfill({ json: { ...(await (await route.fetch()).json()), digits: 2 } }));
    await page.route("**/api/v1/uploads", (route) => route.fulfill({ json: { url: `${base}/bucket`, fields: [], key: "the-key", round: "open", submitter: "ada", max_bytes: 1, expires_at: "2999-01-01T00:00:00.000Z" } }));
    await page.route("**/bucket", (route) => route.fulfill({ status: 204 }));
    await page.route(/\/speech-selection\/submissions(\?|\/)/, (route) => {
      const line = { submission: "f".repeat(32), leaderboard: "en-25", round: "open", status: "scored", score: 0.123456, private: { key: "the-key", reasons: [], lines: [], n_reasons: 0 } };
      return route.fulfill({ json: route.request().url().includes("?") ? { submissions: [line], next: null } : line });
    });
    await go(page, SUBMIT, "Speech selection English, 25 clips");
    await page.waitForSelector("#file");
    await page.setInputFiles("#file", { name: "a.json", mimeType: "application/json", buffer: good() });
    await page.getByRole("button", { name: "Upload as ada" }).click();
    await page.waitForSelector(".outcome");
    assert.match(await page.locator(".outcome").innerText(), /^scored\s+0\.12\./);
  });
});

test("boards of several benchmarks stand side by side, chosen by name", async () => {
  await on("light", "#/boards", async (page) => {
    await page.getByLabel("English, 25 clips", { exact: true }).check();
    await page.locator("fieldset", { hasText: "Vision debugging" }).getByRole("checkbox").first().check();
    await page.getByRole("button", { name: "Show these" }).click();
    await page.waitForSelector(".columns > section:nth-child(2)");
    assert.deepEqual(await page.locator(".columns h2").allTextContents(), ["English, 25 clips", "4 tasks"]);
  });
});

test("a board stands in another page without navigation and token, and nothing else does", async () => {
  await on("light", signedIn(""), async (page) => {
    const tokens = [];
    page.on("request", (request) => request.headers().authorization && tokens.push(request.url()));
    await page.goto(`${base}/embed?benchmark=speech-selection&leaderboard=en-25&rows=3`);
    await page.waitForSelector(".standings");
    assert.equal(await page.locator("tbody tr").count(), 3);
    assert.equal(await page.locator("nav, button").count(), 0);
    assert.deepEqual(tokens, []);
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`), []);
  });
  const framing = `<iframe src="${base}/embed?benchmark=speech-selection&leaderboard=en-25"></iframe><iframe src="${base}/"></iframe>`;
  const site = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(framing));
  await new Promise((listening) => site.listen(0, "localhost", listening));
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE);
    await page.goto(`http://localhost:${site.address().port}/`, { waitUntil: "load" });
    await page.frameLocator("iframe >> nth=0").locator(".standings").waitFor();
    assert.equal(page.frames().length, 3);
    assert.equal(await page.frames()[2].locator("#main").count(), 0, "the page itself is shown in no frame");
  } finally {
    await context.close();
    site.close();
  }
  for (const [path, ancestors] of [["/", "'none'"], ["/index.html", "'none'"], ["/embed.html", "*"], ["/embed", "*"]]) {
    const { headers } = await fetch(`${base}${path}`);
    assert.match(headers.get("content-security-policy"), new RegExp(`frame-ancestors ${ancestors.replace("*", "\\*")}$`), path);
  }
});

test("the navigation stands in one line at every width", async () => {
  await on("light", "", async (page) => {
    for (const width of [1280, 1024, 768]) {
      await page.setViewportSize({ width, height: 900 });
      const { height } = await page.locator(".top").boundingBox();
      assert.ok(height < 90, `${height} pixels at ${width}`);
    }
    await page.locator("#menu summary").focus();
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("#benchmarks a").count() >= 8);
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.getElementById("menu").open), false);
  });
});

for (const [name, address, ready] of [["list", "", ".card"], ["board", "#/speech-selection/board/en-25/open", ".standings tbody tr"]]) {
  test(`the first view of a ${name} is light`, async () => {
    const context = await browser.newContext({ viewport: SCREENS.light.viewport });
    context.setDefaultTimeout(PATIENCE);
    try {
      const page = await context.newPage();
      const session = await context.newCDPSession(page);
      await session.send("Network.enable");
      // 1.6 Mbit/s, 150 ms
      await session.send("Network.emulateNetworkConditions", { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 200_000 });
      let n_bytes = 0;
      const elsewhere = [];
      session.on("Network.loadingFinished", ({ encodedDataLength: n }) => (n_bytes += n));
      session.on("Network.requestWillBeSent", ({ request }) => new URL(request.url).origin === base || elsewhere.push(request.url));
      const began = performance.now();
      await page.goto(`${base}/${address}`, { waitUntil: "commit" });
      await page.waitForSelector(ready);
      const seconds = (performance.now() - began) / 1000;
      const first = n_bytes;
      console.log(`first view of a ${name}: ${first} bytes, ${seconds.toFixed(2)} s at 1.6 Mbit/s and 150 ms`);
      assert.ok(first < 100_000, `${first} bytes`);
      assert.deepEqual(elsewhere, []);
    } finally {
      await context.close();
    }
  });
}
