import { SessionSearch } from "../src/search/index.ts";
import { SearchIndex } from "../src/search/search-index.ts";
const search = new SessionSearch({ home: `/tmp/sprof/${process.argv[2]}` });
const q = process.argv[3]!;
for (let i = 0; i < 5; i++) await search.find(q, { limit: 10 });
for (const name of ["parts", "wordsWith", "files", "fileCount", "entry", "reading"] as const) {
  const own = SearchIndex.prototype[name] as any;
  (SearchIndex.prototype as any)[name] = function (...a: any[]) { const s = performance.now(); const r = own.apply(this, a); const t = performance.now() - s; if (t > 0.3) console.log(t.toFixed(2), name, String(a[0]).slice(0, 50), r?.length, a[2] ?? ""); return r; };
}
const s = performance.now(); await search.find(q, { limit: 10 }); console.log("all", performance.now() - s);
