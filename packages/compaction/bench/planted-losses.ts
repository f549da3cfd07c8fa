import type { SpanRecord } from "../src/details.ts";
import { type Outcome, outcomeLine } from "../src/record/outcomes.ts";
import { isMeasure, termsIn } from "../src/record/sentence.ts";
import type { Fact } from "./annotated.ts";
import { type Phrases, type Style, shortPath, stated } from "./paraphrases.ts";

// Summaries with known losses: a summary states every fact of the record, except the planted losses.

export const PLANTS = ["removed", "corrupted", "turned", "scattered", "nothing is open"] as const;
export type Plant = (typeof PLANTS)[number];

export const LAYOUTS = ["lists", "paragraphs"] as const;
type Layout = (typeof LAYOUTS)[number];

export interface PlantedSummary {
  text: string;
  /** The lost facts. */
  lost: ReadonlySet<Outcome>;
  /** The checked terms, and whether each is lost. */
  terms: ReadonlyMap<string, boolean>;
  /** True if the summary hides that the latest request is open. */
  hidesRequest: boolean;
}

interface Options {
  record: SpanRecord;
  annotations: readonly Fact[];
  phrases: Phrases;
  style: Style;
  plant: Plant;
  layout: Layout;
  /** Index of the first lost fact. After it, one fact in `EVERY` is lost. */
  offset: number;
}

export const EVERY = 3;

type Kind = keyof SpanRecord["outcomes"];

export function plantedSummary(options: Options): PlantedSummary {
  const { record, plant, offset, phrases, style, annotations } = options;
  const sections = new Sections();
  const lost = new Set<Outcome>();
  for (const { kind, text } of backgroundOf(annotations, record))
    sections.add(SECTION_OF[kind] ?? "context", [text]);
  const facts = factsOf(record);
  const isNothingOpen = plant === "nothing is open";
  // Facts of one entry are lost together, because each one states the others.
  const entries = [...new Set(facts.map(({ fact }) => fact.entryId))];
  for (const [at, { kind, fact }] of facts.entries()) {
    const isChosen = entries.indexOf(fact.entryId) % EVERY === offset;
    const isPlanted = isNothingOpen ? kind !== "irreversible" : isChosen;
    const lostAs = isPlanted ? planted(kind, fact, options) : "skip";
    if (lostAs === "skip") sections.add(placeOf(kind, at), linesOf(fact, options));
    else lost.add(fact);
    if (lostAs === "scatter") sections.scatter(factText(fact));
    else if (typeof lostAs === "object") sections.add(lostAs.place, [lostAs.text]);
  }
  if (isNothingOpen) sections.close(offset === 0 ? "(none)" : phrases.nothingOpen);
  else sections.add("next", stated({ text: requestOf(record) } as Outcome, style, undefined, phrases));
  const rest = sections.text(phrases.filler, options.layout);
  const terms = checkedTerms(record, rest);
  const isLost = new Map(terms.map((term, at) => [term, plant in TERM_PLANTS && at % EVERY === offset]));
  const shown = terms.flatMap((term) =>
    isLost.get(term) ? TERM_PLANTS[plant]!(term, record) : written(term, style),
  );
  return { text: `${rest}\n- ${shown.join(", ")}`, lost, terms: isLost, hidesRequest: isNothingOpen };
}

/** Number of terms that the loss check reads. */
const CHECKED_TERMS = 100;
const TERMS = 12;

/** The most frequent terms with a last part that no other term and no other part of the summary has. */
function checkedTerms({ terms }: SpanRecord, rest: string): string[] {
  const nameOf = (term: string) => term.split("/").at(-1)!;
  const all = terms.uses.map(({ term }) => term).slice(0, CHECKED_TERMS);
  const isAlone = (term: string) => all.every((other) => other === term || !other.includes(nameOf(term)));
  return all
    .filter((term) => !isMeasure(term) && !rest.includes(nameOf(term)) && isAlone(term))
    .slice(0, TERMS);
}

const TERM_PLANTS: Partial<Record<Plant, (term: string, record: SpanRecord) => string[]>> = {
  removed: () => [],
  corrupted: (term, record) => [corrupted(term, record) ?? ""],
};

function written(term: string, style: Style): string {
  return style === "copied" ? term : shortPath(term);
}

/** The facts, except those that another fact repeats: the first part of a failed chain is a separate act. */
export function factsOf({ outcomes }: SpanRecord): { kind: Kind; fact: Outcome }[] {
  const failed = outcomes.failing.map(({ key }) => key);
  const isRepeated = (fact: Outcome) => "times" in fact && failed.some((key) => key.includes(fact.command));
  return KINDS.flatMap((kind) =>
    outcomes[kind].filter((fact: Outcome) => !isRepeated(fact)).map((fact: Outcome) => ({ kind, fact })),
  );
}

const KINDS: readonly Kind[] = ["failing", "irreversible", "openTodos"];

type Place = "goal" | "constraints" | "done" | "started" | "blocked" | "decisions" | "next" | "context";

const SECTION_OF: Record<string, Place> = {
  request: "goal",
  constraint: "constraints",
  preference: "constraints",
  decision: "decisions",
};

function placeOf(kind: Kind, at: number): Place {
  if (kind === "irreversible") return at % 2 === 0 ? "done" : "context";
  if (kind === "openTodos") return at % 2 === 0 ? "next" : "started";
  return (["blocked", "context", "next"] as const)[at % 3]!;
}

/** Annotated facts that are not about an outcome of the record. */
function backgroundOf(annotations: readonly Fact[], { outcomes }: SpanRecord): readonly Fact[] {
  const entries = new Set(Object.values(outcomes).flatMap((list) => list.map(({ entryId }) => entryId)));
  const objects = outcomes.irreversible.map(({ command }) => command.split(" ").at(-1)!);
  return annotations.filter(
    ({ stated, kind, text }) =>
      !entries.has(stated) && !OUTCOME_KINDS.has(kind) && !objects.some((object) => text.includes(object)),
  );
}

const OUTCOME_KINDS = new Set(["error-open", "todo-open", "irreversible"]);
const KIND_OF: Record<Kind, string> = {
  failing: "error-open",
  irreversible: "irreversible",
  openTodos: "todo-open",
};

function linesOf(fact: Outcome, { annotations, style, phrases }: Options): string[] {
  return stated(fact, style, ownWords(fact, annotations), phrases);
}

/** The annotator's sentence about the entry of a fact, if there is one. */
function ownWords(fact: Outcome, annotations: readonly Fact[]): string | undefined {
  const kind = "text" in fact ? KIND_OF.openTodos : "times" in fact ? KIND_OF.irreversible : KIND_OF.failing;
  const about = annotations.filter((one) => one.kind === kind && one.stated === fact.entryId);
  const whole = outcomeLine(fact).toLowerCase();
  const isSame = ({ must }: Fact) =>
    must.every((group) => group.some((word) => whole.includes(word.toLowerCase())));
  return about.find(isSame)?.text;
}

/** A shorter fact is hardly more than one name, so its words cannot be scattered. */
const MIN_SCATTERED = 5;

function scatteredWords(text: string): string[] {
  return text.split(/[\s:,()"|]+/).filter((word) => word.length > 2 && !word.startsWith("-"));
}

function factText(fact: Outcome): string {
  return outcomeLine({ ...fact, entryId: undefined });
}

type Written = { place: Place; text: string } | "skip" | "scatter" | undefined;

function planted(kind: Kind, fact: Outcome, options: Options): Written {
  const { plant, phrases, record } = options;
  const lines = linesOf(fact, options);
  switch (plant) {
    case "removed":
      return undefined;
    case "scattered":
      return scatteredWords(factText(fact)).length < MIN_SCATTERED ? "skip" : "scatter";
    case "corrupted": {
      const text = corrupted(lines.join(" "), record);
      return text === undefined ? "skip" : { place: placeOf(kind, 0), text };
    }
    default: {
      const name =
        "text" in fact
          ? lines[0]!
          : stated(
              { ...fact, line: "", result: undefined } as Outcome,
              options.style === "copied" ? "copied" : "spread",
              undefined,
              { ...phrases, fails: "", done: "" },
            )[0]!;
      if (kind === "irreversible") return { place: "next", text: `${name} ${phrases.planned}` };
      return { place: "done", text: kind === "failing" ? `${name} ${phrases.passes}` : name };
    }
  }
}

/** The same statement about another file or with another number; undefined if it has neither. */
function corrupted(text: string, { terms }: SpanRecord): string | undefined {
  const own = [...termsIn(text)];
  const path = own.find((term) => /[\w-]\/[\w.-]+$/.test(term) && !/:\/\//.test(term));
  if (path !== undefined) {
    const folder = path.slice(0, path.lastIndexOf("/") + 1);
    const sibling = terms.uses.find(
      ({ term }) =>
        term.startsWith(folder) && !path.startsWith(term) && !term.includes(path) && !/:\d/.test(term),
    );
    const other = sibling?.term ?? `${folder}overview${/\.\w+$/.exec(path)?.[0] ?? ""}`;
    return text.replaceAll(path, () => other);
  }
  const name = own.find((term) => /\d/.test(term)) ?? /(?<![\w.])\d{2,}(?![\w.])/.exec(text)?.[0];
  if (name === undefined) return undefined;
  return text.replaceAll(
    name,
    name.replaceAll(/\d/g, (digit) => String((Number(digit) + 3) % 10)),
  );
}

function requestOf({ words }: SpanRecord): string {
  return (words.said.at(-1)?.text ?? "").split("\n")[0]!.slice(0, 160);
}

/** The sections of a summary, as the summary prompt lists them. */
class Sections {
  readonly #items: Record<Place, string[][]> = {
    goal: [],
    constraints: [],
    done: [],
    started: [],
    blocked: [],
    decisions: [],
    next: [],
    context: [],
  };
  readonly #scattered: string[] = [];

  add(place: Place, lines: readonly string[]): void {
    this.#items[place].push([...lines]);
  }

  /** Scatters the words of a text over other sections, a few in each. */
  scatter(text: string): void {
    this.#scattered.push(...scatteredWords(text));
  }

  close(text: string): void {
    for (const place of ["started", "blocked", "next"] as const) this.#items[place] = [[text]];
  }

  text(filler: string, layout: Layout): string {
    const places = ["goal", "constraints", "done", "decisions", "context"] as const;
    const targets = places.flatMap((place) => {
      this.#items[place].push([filler]);
      return this.#items[place];
    });
    this.#scattered.forEach((word, at) => {
      const item = targets[(at * 7) % targets.length]!;
      item[0] = `${item[0]} ${word}`;
    });
    const list = (place: Place, mark: (at: number) => string) => {
      const items = this.#items[place];
      if (items.length === 0) return "(none)";
      if (layout === "paragraphs") return items.map((lines) => sentence(lines.join(" "))).join(" ");
      return items.map((lines, at) => `${mark(at)} ${lines.join("\n  ")}`).join("\n");
    };
    const dash = () => "-";
    return `## Goal
${list("goal", dash)}

## Constraints & Preferences
${list("constraints", dash)}

## Progress
### Done
${list("done", () => "- [x]")}
### In Progress
${list("started", () => "- [ ]")}
### Blocked
${list("blocked", dash)}

## Key Decisions
${list("decisions", dash)}

## Next Steps
${list("next", (at) => `${at + 1}.`)}

## Critical Context
${list("context", dash)}`;
  }
}

function sentence(text: string): string {
  return /[.!?。！？]$/u.test(text) ? text : `${text}.`;
}
