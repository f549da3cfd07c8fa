import { posix } from "node:path";
import { shownCount } from "../result-text.ts";

/** Longer than any path that a system takes is of no use, and would only cost time. */
const MAX_GLOB_CHARS = 2_000;
/** What `{1..9}` may stand for, and what a glob of many of them may come to. */
const MAX_RANGE_NUMBERS = 1_000;
const MAX_STEPS = 10_000;

/**
 * Whether a path, relative with `/`, is meant by a glob: `*`, `?`, `**`, `[a-z]`, `{a,b}`, `{1..9}`. As in .gitignore, one
 * without a slash is for the name at any depth; a leading `!` means all others. Brackets and braces also match themselves:
 * `[id]` finds a folder of that name.
 * @throws Error for a glob that is too long, as a sentence for who wrote it
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const isNegated = glob.startsWith("!");
  const pattern = new GlobPattern(glob.replace(/^!/, "").replace(/^\.?\//, ""));
  const isNameOnly = !glob.includes("/");
  return (path) => pattern.matches(isNameOnly ? posix.basename(path) : path) !== isNegated;
}

/** A step consumes one character, or leads on without one. */
type Step =
  | { kind: "one"; takes: (code: number) => boolean }
  /** `*`: any characters of one name. */
  | { kind: "name" }
  /** A last `**`: all that is left. */
  | { kind: "rest" }
  /** `**` and the slash behind it: any number of folders; `in_folder`, which follows it, is inside the name of one. */
  | { kind: "folders" }
  | { kind: "in_folder" }
  | { kind: "split"; to: number[] }
  | { kind: "jump"; to: number }
  | { kind: "character"; code: number };

const SLASH = 0x2f;

/**
 * A glob as the steps of an automaton that is in many places at once: to match takes no more than one look at each step
 * for each character, whatever the glob is. An expression with backtracking takes minutes for a dozen stars.
 */
export class GlobPattern {
  readonly #steps: readonly Step[];
  /** What every match begins and ends with: that alone rules most paths out. */
  readonly #beginning: string;
  readonly #end: string;
  /** By step: the round in which it was reached last. */
  readonly #reached: Float64Array;
  #round = 0;

  /** @param options isGitignore: `{` has no meaning, and `[id]` does not match itself */
  constructor(glob: string, { isGitignore = false }: { isGitignore?: boolean } = {}) {
    const characters = Array.from(glob);
    if (characters.length > MAX_GLOB_CHARS) throw tooLong(characters.length);
    this.#steps = new GlobParser(characters, isGitignore).steps();
    this.#reached = new Float64Array(this.#steps.length + 1);
    const plain = this.#steps.map((step) =>
      step.kind === "character" ? String.fromCodePoint(step.code) : undefined,
    );
    const first = plain.indexOf(undefined);
    this.#beginning = plain.slice(0, first < 0 ? undefined : first).join("");
    this.#end = plain.slice(plain.lastIndexOf(undefined) + 1).join("");
  }

  /** True where the glob stands for the whole text. */
  matches(text: string): boolean {
    if (!text.startsWith(this.#beginning) || !text.endsWith(this.#end)) return false;
    let places = this.#follow([0]);
    for (let at = 0; at < text.length; ) {
      const code = text.codePointAt(at)!;
      at += code > 0xffff ? 2 : 1;
      places = this.#follow(places.flatMap((place) => this.#after(place, code)));
      if (places.length === 0) return false;
    }
    return this.#reached[this.#steps.length] === this.#round;
  }

  /** Where one character leads from a place. */
  #after(place: number, code: number): number | [] {
    const step = this.#steps[place];
    switch (step?.kind) {
      case "character":
        return step.code === code ? place + 1 : [];
      case "one":
        return code !== SLASH && step.takes(code) ? place + 1 : [];
      case "name":
        return code === SLASH ? [] : place;
      case "rest":
        return place;
      case "in_folder":
        return code === SLASH ? place - 1 : place;
      default:
        return [];
    }
  }

  /** The places, and all that they lead to without a character, each once. */
  #follow(from: number[]): number[] {
    this.#round += 1;
    const places: number[] = [];
    while (from.length > 0) {
      const place = from.pop()!;
      if (this.#reached[place] === this.#round) continue;
      this.#reached[place] = this.#round;
      const step = this.#steps[place];
      if (step?.kind === "split") for (const to of step.to) from.push(to);
      else if (step?.kind === "jump") from.push(step.to);
      else if (step?.kind === "folders") from.push(place + 1, place + 2);
      else {
        places.push(place);
        if (step?.kind === "name" || step?.kind === "rest") from.push(place + 1);
      }
    }
    return places;
  }
}

function tooLong(characters: number): Error {
  return new Error(
    `The glob has ${shownCount(characters)} characters; the maximum is ${shownCount(MAX_GLOB_CHARS)}. Give the folder as path and a shorter glob.`,
  );
}

type BraceRole = "open" | "next" | "close";

/** An open `{`: where its choice stands, and what leads on behind its `}`. */
interface OpenBrace {
  split: { kind: "split"; to: number[] };
  jumps: { kind: "jump"; to: number }[];
}

class GlobParser {
  readonly #characters: readonly string[];
  readonly #isGitignore: boolean;
  readonly #braces: ReadonlyMap<number, BraceRole>;
  readonly #steps: Step[] = [];
  readonly #open: OpenBrace[] = [];
  #at = 0;

  constructor(characters: readonly string[], isGitignore: boolean) {
    this.#characters = characters;
    this.#isGitignore = isGitignore;
    this.#braces = isGitignore ? new Map() : bracesOf(characters);
  }

  steps(): Step[] {
    while (this.#at < this.#characters.length) this.#next();
    return this.#steps;
  }

  #next(): void {
    const character = this.#characters[this.#at]!;
    if (this.#braces.has(this.#at)) this.#brace();
    else if (character === "*") this.#stars();
    else if (character === "?") this.#one(() => true, 1);
    else if (character === "[" && classEnd(this.#characters, this.#at) > 0) this.#class();
    else if (character === "\\" && this.#at + 1 < this.#characters.length) this.#plain(1);
    else if (character === "{" && !this.#isGitignore && this.#range()) return;
    else this.#plain(0);
  }

  #plain(skipped: number): void {
    const character = this.#characters[this.#at + skipped]!;
    this.#steps.push({ kind: "character", code: character.codePointAt(0)! });
    this.#at += skipped + 1;
  }

  #one(takes: (code: number) => boolean, length: number): void {
    this.#steps.push({ kind: "one", takes });
    this.#at += length;
  }

  /** Two stars are special where they stand for whole names; else they are one. */
  #stars(): void {
    const start = this.#at;
    while (this.#characters[this.#at] === "*") this.#at += 1;
    const isWhole = this.#at - start === 2 && this.#isEdge(start - 1, "open");
    if (isWhole && this.#characters[this.#at] === "/") {
      this.#at += 1;
      this.#steps.push({ kind: "folders" }, { kind: "in_folder" });
    } else if (isWhole && this.#isEdge(this.#at, "close")) this.#steps.push({ kind: "rest" });
    else this.#steps.push({ kind: "name" });
  }

  /** True beside a whole name: at a slash, at either end, at an edge of what can be chosen. */
  #isEdge(at: number, edge: "open" | "close"): boolean {
    const character = this.#characters[at];
    const role = this.#braces.get(at);
    return character === undefined || character === "/" || role === edge || role === "next";
  }

  #brace(): void {
    const role = this.#braces.get(this.#at);
    this.#at += 1;
    if (role === "open") {
      const split = { kind: "split" as const, to: [this.#steps.length + 1] };
      this.#steps.push(split);
      const itself = this.#innermostBraces();
      const jumps = itself === undefined ? [] : [this.#textThenJump(itself)];
      if (jumps.length > 0) split.to.push(this.#steps.length);
      this.#open.push({ split, jumps });
      return;
    }
    const open = this.#open.at(-1)!;
    const jump = { kind: "jump" as const, to: 0 };
    this.#steps.push(jump);
    open.jumps.push(jump);
    if (role === "next") open.split.to.push(this.#steps.length);
    else for (const each of this.#open.pop()!.jumps) each.to = this.#steps.length;
  }

  /** The text of the choice that begins before this place, unless it has another one inside. */
  #innermostBraces(): readonly string[] | undefined {
    let at = this.#at;
    while (this.#braces.get(at) !== "close") {
      if (this.#braces.get(at) === "open") return undefined;
      at += 1;
    }
    return this.#characters.slice(this.#at - 1, at + 1);
  }

  /** `{1..9}`: one of these numbers. */
  #range(): boolean {
    const end = this.#characters.indexOf("}", this.#at);
    const text = this.#characters.slice(this.#at, Math.min(end + 1, this.#at + 40)).join("");
    const [, first, last] = /^\{(-?\d{1,9})\.\.(-?\d{1,9})\}$/.exec(text) ?? [];
    if (first === undefined || last === undefined) return false;
    const [from, to] = [Math.min(Number(first), Number(last)), Math.max(Number(first), Number(last))];
    if (to - from >= MAX_RANGE_NUMBERS) {
      throw new Error(
        `The range ${text} of the glob covers more than ${shownCount(MAX_RANGE_NUMBERS)} numbers. Use * instead.`,
      );
    }
    const width = /^-?0\d/.test(first) ? first.length : 0;
    const numbers = Array.from({ length: to - from + 1 }, (_, at) => String(from + at).padStart(width, "0"));
    this.#oneOf([...numbers, text]);
    if (this.#steps.length > MAX_STEPS) {
      throw new Error(
        "The number ranges of the glob cover too many numbers together. Use * for some of them.",
      );
    }
    this.#at = end + 1;
    return true;
  }

  #oneOf(texts: readonly string[]): void {
    const split = { kind: "split" as const, to: [] as number[] };
    const jumps: { kind: "jump"; to: number }[] = [];
    this.#steps.push(split);
    for (const text of texts) {
      split.to.push(this.#steps.length);
      jumps.push(this.#textThenJump(text));
    }
    for (const jump of jumps) jump.to = this.#steps.length;
  }

  #textThenJump(text: Iterable<string>): { kind: "jump"; to: number } {
    for (const character of text) this.#steps.push({ kind: "character", code: character.codePointAt(0)! });
    const jump = { kind: "jump" as const, to: 0 };
    this.#steps.push(jump);
    return jump;
  }

  #class(): void {
    const start = this.#at;
    const end = classEnd(this.#characters, start);
    const first = this.#characters[start + 1];
    const isNegated = first === "!" || first === "^";
    const takes = classOf(this.#characters.slice(start + (isNegated ? 2 : 1), end));
    const one = () => this.#one((code) => takes(code) !== isNegated, end + 1 - start);
    if (this.#isGitignore) {
      one();
      return;
    }
    const split = { kind: "split" as const, to: [this.#steps.length + 1] };
    this.#steps.push(split);
    const itself = this.#textThenJump(this.#characters.slice(start, end + 1));
    split.to.push(this.#steps.length);
    one();
    itself.to = this.#steps.length;
  }
}

/** What belongs to choices: braces that close and have a comma of their own. All else is as it stands. */
function bracesOf(characters: readonly string[]): ReadonlyMap<number, BraceRole> {
  const roles = new Map<number, BraceRole>();
  const open: { at: number; commas: number[] }[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at];
    if (character === "\\") at += 1;
    else if (character === "[") at = Math.max(at, classEnd(characters, at));
    else if (character === "{") open.push({ at, commas: [] });
    else if (character === ",") open.at(-1)?.commas.push(at);
    else if (character === "}") {
      const brace = open.pop();
      if (brace === undefined || brace.commas.length === 0) continue;
      roles.set(brace.at, "open").set(at, "close");
      for (const comma of brace.commas) roles.set(comma, "next");
    }
  }
  return roles;
}

/** Where the `]` of a class stands; -1 where there is none. One that comes first is a member. */
function classEnd(characters: readonly string[], start: number): number {
  let at = start + 1;
  if (characters[at] === "!" || characters[at] === "^") at += 1;
  if (characters[at] === "]") at += 1;
  for (; at < characters.length; at += 1) {
    const character = characters[at];
    if (character === "]") return at;
    if (character === "/") return -1;
    if (character === "\\") at += 1;
    else if (character === "[" && characters[at + 1] === ":") {
      const close = characters.indexOf(":", at + 2);
      if (close > 0 && characters[close + 1] === "]") at = close + 1;
    }
  }
  return -1;
}

const namedClasses: Readonly<Record<string, RegExp>> = {
  alnum: /[a-z0-9]/i,
  alpha: /[a-z]/i,
  blank: /[ \t]/,
  digit: /\d/,
  lower: /[a-z]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[A-Z]/,
  xdigit: /[\da-f]/i,
};

/** Whether a character is a member of `a-z`, `_` or `[:digit:]`. */
function classOf(members: readonly string[]): (code: number) => boolean {
  const named: RegExp[] = [];
  const ranges: [number, number][] = [];
  const codeAt = (at: number): [code: number, next: number] =>
    members[at] === "\\" && at + 1 < members.length
      ? [members[at + 1]!.codePointAt(0)!, at + 2]
      : [members[at]!.codePointAt(0)!, at + 1];
  for (let at = 0; at < members.length; ) {
    const [name, expression] = namedAt(members, at);
    if (expression !== undefined) {
      named.push(expression);
      at += name.length + 4;
      continue;
    }
    const [first, next] = codeAt(at);
    const isRange = members[next] === "-" && next + 1 < members.length;
    const [last, behind] = isRange ? codeAt(next + 1) : [first, next];
    ranges.push([first, last]);
    at = behind;
  }
  return (code) =>
    ranges.some(([first, last]) => code >= first && code <= last) ||
    named.some((expression) => expression.test(String.fromCodePoint(code)));
}

function namedAt(members: readonly string[], at: number): [name: string, expression: RegExp | undefined] {
  if (members[at] !== "[" || members[at + 1] !== ":") return ["", undefined];
  const name = members.slice(at + 2, Math.max(at + 2, members.indexOf(":", at + 2))).join("");
  return [name, Object.hasOwn(namedClasses, name) ? namedClasses[name] : undefined];
}
