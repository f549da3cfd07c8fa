import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { generateSession } from "@bonsai-agent/testkit";
import { SessionSearch } from "../src/search/index.ts";
const [sessions, entries] = process.argv.slice(2, 4).map(Number) as [number, number];
const home = `/tmp/sprof/${sessions}-${entries}`;
const folder = join(home, "sessions/-home-dev-shop");
if (!existsSync(folder)) {
  mkdirSync(folder, { recursive: true });
  for (let seed = 0; seed < sessions; seed += 1) generateSession({ file: join(folder, `${seed}.jsonl`), seed, entries, averageBytes: 1000 });
}
const search = new SessionSearch({ home });
let t = performance.now();
const first = await search.find("the tests", { limit: 10 });
console.log("first", (performance.now() - t).toFixed(0), first.hits.length, first.unindexed, first.files);
t = performance.now();
console.log(await search.catchUp(), ((performance.now() - t) / 1000).toFixed(1), "s");
let plain: any;
if (process.env.PLAIN) {
  const db = new DatabaseSync(":memory:");
  db.exec("CREATE VIRTUAL TABLE line USING fts5 (body, tokenize = 'porter unicode61')");
  const insert = db.prepare("INSERT INTO line (body) VALUES (?)");
  db.exec("BEGIN");
  for (const name of readdirSync(folder)) for (const line of readFileSync(join(folder, name), "utf8").split("\n")) insert.run(line);
  db.exec("COMMIT");
  plain = db.prepare("SELECT rowid FROM line WHERE line MATCH ? ORDER BY rank LIMIT 10");
}
const QUERIES = ["the tests", "dRouter", "zzzneedle", '"of them pass"', "Where did we decide to retry the webhook of the payment provider?",
 "why does the test of the router fail after the session was merged into main branch", "the name of the function that handles errors in the order service when it times out",
 "src/orders/router.ts", "which command did we use to run all of the tests in the shop folder before the release yesterday"];
const median = async (work: () => unknown) => { const times: number[] = []; for (let i = 0; i < (+(process.env.N ?? 15)); i++) { const s = process.cpuUsage(); await work(); const c = process.cpuUsage(s); times.push((c.user + c.system) / 1000);} return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!; };
for (const q of QUERIES) {
  const ours = await median(() => search.find(q, { limit: 10 }));
  const words = (q.match(/[\p{L}\p{N}]+/gu) ?? []).map((w) => `"${w}"`).join(" OR ");
  const theirs = plain ? await median(() => plain.all(words)) : 0;
  console.log(ours.toFixed(1).padStart(7), theirs.toFixed(1).padStart(7), (ours/theirs).toFixed(2), q);
}
