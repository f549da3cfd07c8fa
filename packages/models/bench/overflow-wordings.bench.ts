import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";
import { conceptsByPhrase } from "../src/failure/refusal-words.ts";
import { classifiedRefusal, figuresOf, type Refusal, readRefusals } from "../test/refusals/corpus.ts";

type IsOverflow = (refusal: Refusal) => boolean;

const PEER_MODULE = "node_modules/@earendil-works/pi-ai/dist/utils/overflow.js";
const files = ["seen.txt", "held-out.txt", "found.txt", "later.txt"];
const languages: Readonly<Record<string, RegExp>> = {
  Chinese: /\p{Script=Han}/gu,
  Japanese: /[\p{Script=Hiragana}\p{Script=Katakana}]/gu,
  Korean: /\p{Script=Hangul}/gu,
};

/** Lowest precision and recall of all refusals, by words alone and near the window, that a change may leave. */
const FLOOR = { words: [0.985, 0.985], near: [0.9, 0.985] } as const;

/**
 * Precision and recall of overflows by their words alone, and when each request is near its window (the worst case for
 * precision: a refusal without a cause is an overflow then). Then the same without each concept and each language.
 * @throws Error if a figure of all refusals is below its floor
 */
export default async function bench(): Promise<BenchTable> {
  const sets = files.map((file) => ({ name: file, refusals: readRefusals(file) }));
  const refusals = sets.flatMap((set) => set.refusals);
  const rows = [...sets, { name: "all", refusals }].map((set) => [
    `${set.name} (${set.refusals.length})`,
    ...figures(set.refusals),
  ]);
  const measured = [wordsOnly, nearWindow].flatMap((way) => Object.values(figuresOf(refusals, way)));
  const floors = [...FLOOR.words, ...FLOOR.near];
  if (measured.some((figure, at) => figure < floors[at]!))
    throw new Error(`Overflows are told worse than the floor: ${measured.join(", ")} < ${floors.join(", ")}`);
  return {
    title: "Overflows told by their words",
    columns: ["refusals", "words: precision", "recall", "near the window: precision", "recall"],
    rows: [...rows, ...conceptRows(refusals), ...languageRows(refusals), ...(await peerRows(refusals))],
    notes: [
      "precision: the share of overflows among the refusals taken for one; recall: the share of overflows that are found",
      "a concept or a language stays if its removal costs more than 0.02 in a column, or if an outcome needs it (request, bytes)",
      "removed at the last ablation: 'least' 0.003; 'duration' 0.009; German, French, Spanish, Portuguese, Italian and Russian 0.000 near the window (words alone 0.008 to 0.027 each)",
      "at the first measurement, before anything was changed by it: held-out.txt 0.983 and 0.983, found.txt 0.967 and 0.967",
    ],
  };
}

const wordsOnly: IsOverflow = (refusal) => classifiedRefusal(refusal).kind === "inputTooLong";
const nearWindow: IsOverflow = (refusal) =>
  classifiedRefusal(refusal, { inputTokens: 31_000, maxOutputTokens: 4_000, windowTokens: 32_768 }).kind ===
  "inputTooLong";

function figures(refusals: readonly Refusal[]): string[] {
  return [wordsOnly, nearWindow].flatMap((way) => {
    const { precision, recall } = figuresOf(refusals, way);
    return [precision.toFixed(3), recall.toFixed(3)];
  });
}

function conceptRows(refusals: readonly Refusal[]): string[][] {
  const byPhrase = conceptsByPhrase();
  const vocabulary = new Map([...byPhrase].map(([phrase, concepts]) => [phrase, new Set(concepts)]));
  const all = new Set([...vocabulary.values()].flatMap((concepts) => [...concepts]));
  return [...all].map((concept) => {
    for (const concepts of byPhrase.values()) concepts.delete(concept);
    const row = [`without ${concept}`, ...figures(refusals)];
    for (const [phrase, concepts] of vocabulary) byPhrase.set(phrase, new Set(concepts));
    return row;
  });
}

function languageRows(refusals: readonly Refusal[]): string[][] {
  return Object.entries(languages).map(([language, letters]) => [
    `without ${language}`,
    ...figures(refusals.map((refusal) => ({ ...refusal, body: refusal.body.replaceAll(letters, "ø") }))),
  ]);
}

/** The check of pi, on the words as its errors contain them. */
async function peerRows(refusals: readonly Refusal[]): Promise<string[][]> {
  const installed = process.env.BONSAI_BENCH_PEER || undefined;
  if (installed === undefined) return [];
  const { isContextOverflow } = (await import(pathToFileURL(join(installed, PEER_MODULE)).href)) as {
    isContextOverflow: (message: object) => boolean;
  };
  const { precision, recall } = figuresOf(refusals, ({ status, body }) =>
    isContextOverflow({ stopReason: "error", provider: "any", errorMessage: `${status} ${body}` }),
  );
  return [["pi", precision.toFixed(3), recall.toFixed(3), "", ""]];
}
