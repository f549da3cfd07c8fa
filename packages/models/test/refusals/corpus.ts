import { readFileSync } from "node:fs";
import { classifyFailure, type RefusedRequest } from "../../src/failure/classify.ts";
import type { FailureKind, ModelFailure } from "../../src/model-request.ts";
import { refusal } from "../../src/wire/errors.ts";
import { jsonOrText } from "../../src/wire/fields.ts";

/** The kind of a refusal in the corpus. */
export type Section = "input" | "cap" | "bytes" | "rate" | "billing" | "damaged" | "other";

/** Outcomes that serve a user, the best first. */
const RIGHT: Record<Section, readonly FailureKind[]> = {
  input: ["inputTooLong"],
  cap: ["outputCapTooLarge"],
  bytes: ["bytesTooLarge"],
  rate: ["rateLimit"],
  billing: ["rateLimit", "other"],
  damaged: ["damagedHistory", "other"],
  other: ["other"],
};

export interface Refusal {
  section: Section;
  status: number;
  body: string;
  windowTokens?: number;
  inputTokens?: number;
}

/** Reads a file of this folder. Its first lines describe the format. */
export function readRefusals(name: string): Refusal[] {
  const found: Refusal[] = [];
  let section: Section | undefined;
  for (const line of readFileSync(new URL(name, import.meta.url), "utf8").split("\n")) {
    const heading = /^# (\w+)$/.exec(line)?.[1];
    if (heading !== undefined) section = heading as Section;
    const [, status, body, window, input] = /^(\d{3}) (.*?)(?: => (\d+|-) (\d+|-))?$/.exec(line) ?? [];
    if (section === undefined || status === undefined || body === undefined) continue;
    found.push({
      section,
      status: Number(status),
      body,
      ...(window !== undefined && window !== "-" && { windowTokens: Number(window) }),
      ...(input !== undefined && input !== "-" && { inputTokens: Number(input) }),
    });
  }
  return found;
}

export function classifiedRefusal({ status, body }: Refusal, request?: RefusedRequest): ModelFailure {
  return classifyFailure({
    error: refusal({ status, body: jsonOrText(body) }),
    provider: "any",
    modelId: "m",
    ...(request && { request }),
  });
}

export interface Figures {
  /** Share of overflows among the refusals taken for one. */
  precision: number;
  /** Share of overflows that are found. */
  recall: number;
  /** Share of the other refusals with a right outcome. */
  otherRight: number;
  /** Share of the numbers that are read, and the count of wrong ones. */
  numbersRead: number;
  wrongNumbers: number;
  /** A line for each wrong outcome and number. */
  wrong: string[];
}

export function figuresOf(refusals: readonly Refusal[], isOverflow: (refusal: Refusal) => boolean) {
  const taken = refusals.filter(isOverflow);
  const overflows = refusals.filter(({ section }) => section === "input");
  const right = taken.filter(({ section }) => section === "input").length;
  return { precision: right / taken.length, recall: right / overflows.length };
}

export function ourFigures(refusals: readonly Refusal[]): Figures {
  const judged = refusals.map((refusal) => ({ refusal, failure: classifiedRefusal(refusal) }));
  const kinds = new Map(judged.map(({ refusal, failure }) => [refusal, failure.kind]));
  const isRight = ({ refusal, failure }: (typeof judged)[number]) =>
    RIGHT[refusal.section].includes(failure.kind);
  const others = judged.filter(({ refusal }) => refusal.section !== "input");
  const told = judged.flatMap(({ refusal, failure }) => [
    { is: failure.windowTokens, shouldBe: refusal.windowTokens, of: refusal },
    { is: failure.inputTokens, shouldBe: refusal.inputTokens, of: refusal },
  ]);
  const wrongNumbers = told.filter(
    ({ is, shouldBe, of }) => of.section === "input" && is !== undefined && is !== shouldBe,
  );
  return {
    ...figuresOf(refusals, (refusal) => kinds.get(refusal) === "inputTooLong"),
    otherRight: others.filter(isRight).length / others.length,
    numbersRead:
      told.filter(({ is, shouldBe }) => shouldBe !== undefined && is === shouldBe).length /
      told.filter(({ shouldBe }) => shouldBe !== undefined).length,
    wrongNumbers: wrongNumbers.length,
    wrong: [
      ...judged
        .filter((one) => !isRight(one))
        .map(
          ({ refusal, failure }) =>
            `${refusal.section} taken for ${failure.kind}: ${refusal.status} ${refusal.body}`,
        ),
      ...wrongNumbers.map(({ is, shouldBe, of }) => `${is} read for ${shouldBe ?? "nothing"}: ${of.body}`),
    ],
  };
}
