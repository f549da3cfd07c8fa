import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BenchTable } from "@bonsai-agent/testkit";
import { checkLoss } from "../src/carry/loss.ts";
import { recordAfter } from "../src/carry/record.ts";
import type { SpanRecord } from "../src/details.ts";
import { outcomeLine } from "../src/record/outcomes.ts";
import { type AnnotatedSession, annotatedSessions, type Fact, pathIndex } from "./annotated.ts";
import { phrasesOf, STYLES } from "./paraphrases.ts";
import { EVERY, factsOf, LAYOUTS, PLANTS, plantedSummary } from "./planted-losses.ts";

/** A record at a compaction, with its annotations. */
interface Moment {
  record: SpanRecord;
  annotations: readonly Fact[];
  language: string;
}

/** Minimum scores on the half of the sessions that did not shape the rules. The bench fails below them. */
const FLOOR = { precision: 0.97, recall: 0.9 };

/** Compares the reported losses with planted ones. @throws Error below the floor */
export default async function bench(): Promise<BenchTable> {
  const sessions = [...annotatedSessions(), workday()];
  const halves = [0, 1].map((half) =>
    scoresOf(sessions.filter((_, at) => at % 2 === half).flatMap(momentsOf)),
  );
  const heldOut = halves[1]!.get(ALL)!;
  if (heldOut.precision < FLOOR.precision || heldOut.recall < FLOOR.recall)
    throw new Error(`Held-out sessions: precision ${heldOut.precision}, recall ${heldOut.recall}.`);
  const cells = (score: Score) => [
    score.precision.toFixed(3),
    score.recall.toFixed(3),
    `${score.wrong} of ${score.kept}`,
  ];
  const columns = ["precision", "recall", "false reports"];
  return {
    title: "Loss check: planted losses in summaries that state the other facts in other words",
    columns: ["facts", ...columns, ...columns.map((column) => `${column}, held out`)],
    rows: [...halves[0]!.keys()].map((key) => [key, ...halves.flatMap((scores) => cells(scores.get(key)!))]),
    notes: ["False reports: facts that the summary states. Every third fact is lost. All: without terms."],
  };
}

const ALL = "all";

class Score {
  wrong = 0;
  kept = 0;
  #right = 0;
  #missed = 0;

  add(isLost: boolean, isReported: boolean): void {
    if (!isLost) this.kept += 1;
    if (isLost && isReported) this.#right += 1;
    else if (isReported) this.wrong += 1;
    else if (isLost) this.#missed += 1;
  }

  get precision(): number {
    return this.#right / (this.#right + this.wrong);
  }

  get recall(): number {
    return this.#right / (this.#right + this.#missed);
  }
}

/** Scores by kind of fact, plant, style and layout. */
function scoresOf(moments: readonly Moment[]): Map<string, Score> {
  const scores = new Map<string, Score>();
  const add = (keys: readonly string[], isLost: boolean, isReported: boolean) => {
    for (const key of keys) {
      const score = scores.get(key) ?? new Score();
      scores.set(key, score);
      score.add(isLost, isReported);
    }
  };
  for (const { moment, ...shape } of trialsOf(moments)) {
    const { record } = moment;
    const { text, lost, terms, hidesRequest } = plantedSummary({
      ...moment,
      ...shape,
      phrases: phrasesOf(moment.language),
    });
    const request = record.words.said.at(-1)!;
    const openRequest = { text: request.text, entryId: request.entryId ?? "" };
    const { report, lines } = checkLoss(record, { summary: text, openRequest }, Number.POSITIVE_INFINITY);
    const keys = [ALL, shape.plant, shape.style, shape.layout];
    for (const { kind, fact } of factsOf(record))
      add([kind, ...keys], lost.has(fact), lines.includes(outcomeLine(fact)));
    const reported = lines.at(-1)?.split(", ") ?? [];
    for (const [term, isLost] of terms) add(["terms"], isLost, reported.includes(term));
    add([ALL, "request"], hidesRequest, report.requests.lost > 0);
  }
  return scores;
}

function trialsOf(moments: readonly Moment[]) {
  return moments.flatMap((moment) =>
    STYLES.flatMap((style) =>
      LAYOUTS.flatMap((layout) =>
        PLANTS.flatMap((plant) =>
          Array.from({ length: EVERY }, (_, offset) => ({ moment, style, layout, plant, offset })),
        ),
      ),
    ),
  );
}

function momentsOf({ language, entries, checkpoints, facts }: AnnotatedSession): Moment[] {
  const index = pathIndex(entries);
  const placeOf = (id: string | undefined) => (id === undefined ? Number.POSITIVE_INFINITY : index.get(id)!);
  let record: SpanRecord | undefined;
  let from = 0;
  return checkpoints.map((checkpoint) => {
    const to = entries.findIndex(({ id }) => id === checkpoint) + 1;
    const messages = entries
      .slice(from, to)
      .flatMap(({ id, message }) => (message === undefined ? [] : [{ message, entryId: id }]));
    from = to;
    record = recordAfter({ messages, earlier: record, wordsTokens: 4_000 });
    const end = placeOf(checkpoint);
    const annotations = facts.filter(
      ({ stated, cleared }) => placeOf(stated) <= end && placeOf(cleared) > end,
    );
    return { record, annotations, language };
  });
}

const CHECKPOINTS = 3;

/** The example of a working day, which has no annotations. */
function workday(): AnnotatedSession {
  const file = fileURLToPath(new URL("../../../examples/workday.jsonl", import.meta.url));
  const [header = "", ...lines] = readFileSync(file, "utf8").trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line));
  const at = (checkpoint: number) =>
    entries[Math.floor((entries.length * (checkpoint + 1)) / CHECKPOINTS) - 1].id;
  const checkpoints = Array.from({ length: CHECKPOINTS }, (_, checkpoint) => at(checkpoint));
  return { name: "workday", language: "en", header, entries, checkpoints, facts: [] };
}
