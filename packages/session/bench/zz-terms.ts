import { parseQuery } from "../src/search/query.ts";
import { SearchIndex } from "../src/search/search-index.ts";
const home = `/tmp/sprof/${process.argv[2]}`;
const index = SearchIndex.open(home);
const ids = index.files().map((f) => f.id);
const range = { first: Math.min(...ids), last: Math.max(...ids), among: undefined };
const time = (w: () => any) => { const a = []; let r; for (let i = 0; i < 7; i++) { const s = performance.now(); r = w(); a.push(performance.now() - s); } return [a.sort((x, y) => x - y)[3]!.toFixed(2).padStart(7), r] as const; };
index.reading(() => {
for (const q of process.argv.slice(3)) for (const t of parseQuery(q).terms) {
  const [ms, parts] = time(() => index.parts(`"${t.text}"`, range));
  const [ms2, words] = t.part ? time(() => index.wordsWith(t.part!)) : ["", []];
  const [ms3, within] = words.length ? time(() => index.parts(words.map((w: string) => `"${w}"`).join(" OR "), range)) : ["", []];
  console.log(ms, String(parts.length).padStart(5), ms2, String(words.length).padStart(3), ms3, String(within.length).padStart(5), t.text, t.part ?? "");
}
});
