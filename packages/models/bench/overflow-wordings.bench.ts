import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";
import { classifiedRefusal, figuresOf, type Refusal, readRefusals } from "../test/refusals/corpus.ts";

type IsOverflow = (refusal: Refusal) => boolean;

const PEER_MODULE = "node_modules/@earendil-works/pi-ai/dist/utils/overflow.js";
const sets: readonly (readonly [file: string, what: string])[] = [
  ["seen.txt", "read while the rule was made and mended"],
  ["held-out.txt", "written before the rule, mended by since"],
  ["found.txt", "found after the rule was made, mended by since"],
];

/** How well overflows of the input are told from other refusals by their words, in wordings that no table was made for. */
export default async function bench(): Promise<BenchTable> {
  const ways: [string, IsOverflow][] = [
    ["bonsai", (refusal) => classifiedRefusal(refusal).kind === "inputTooLong"],
    ...(await peer()),
  ];
  const files = sets.map(([file, what]) => ({ name: `${file}, ${what}`, refusals: readRefusals(file) }));
  const all = { name: "all", refusals: files.flatMap(({ refusals }) => refusals) };
  return {
    title: "Overflows told by their words",
    columns: [
      "refusals",
      "number",
      "of them overflows",
      ...ways.flatMap(([who]) => [`${who}: precision`, "recall"]),
    ],
    rows: [...files, all].map(({ name, refusals }) => [
      name,
      String(refusals.length),
      String(refusals.filter(({ section }) => section === "input").length),
      ...ways.flatMap(([, isOverflow]) => {
        const { precision, recall } = figuresOf(refusals, isOverflow);
        return [precision.toFixed(3), recall.toFixed(3)];
      }),
    ]),
    notes: [
      "precision: of what is taken for an overflow, the part that is one; recall: of the overflows, the part that is taken for one",
      "at the first measure, before anything was mended by it: held-out.txt 0.983 and 0.983, found.txt 0.967 and 0.967",
      "two later lists, half of them made to mislead, now in seen.txt, at their first measure: 0.92 and 0.92, 0.84 and 0.93",
    ],
  };
}

/** pi's own check, on the words as its errors hold them. */
async function peer(): Promise<[string, IsOverflow][]> {
  const installed = process.env.BONSAI_BENCH_PEER || undefined;
  if (installed === undefined) return [];
  const { isContextOverflow } = (await import(pathToFileURL(join(installed, PEER_MODULE)).href)) as {
    isContextOverflow: (message: object) => boolean;
  };
  const isOverflow: IsOverflow = ({ status, body }) =>
    isContextOverflow({ stopReason: "error", provider: "any", errorMessage: `${status} ${body}` });
  return [["pi", isOverflow]];
}
