import { fold } from "./fold.ts";
import { gist } from "./gist.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { errorLines } from "./outcome.ts";
import type { Statement } from "./statement.ts";
import { subjectOf } from "./subject.ts";
import type { ToolUse } from "./tool-use.ts";
import type { Transcript } from "./transcript.ts";
import { valuesOf } from "./values.ts";
import { isLeft, saysItWorks } from "./word-of-mending.ts";

/** Something that went wrong, until it is mended. */
export interface Failure {
  /** What went wrong, as shown. */
  text: string;
  /** The command or file that failed; its later success mends. Empty for what was only told. */
  key: string;
  folder?: string;
  family: string;
  turn: number;
  order: number;
  /** 0 to 10. */
  weight: number;
  values: ReadonlySet<string>;
  subject: ReadonlySet<string>;
  told: boolean;
}

const JUDGED = new Set(["test", "build", "check"]);

/** Walks calls and statements in order and keeps the failures that nothing mended, oldest first. */
export function openFailures(input: {
  uses: readonly ToolUse[];
  statements: readonly Statement[];
  transcript: Transcript;
  earlier: readonly string[];
}): Failure[] {
  const ledger = new FailureLedger();
  for (const text of input.earlier) ledger.recall(text);
  const events = [
    ...input.uses.map((use) => ({ order: use.call.order, run: () => ledger.used(use) })),
    ...input.transcript.pasted.map((line) => ({ order: line.order, run: () => ledger.pasted(line) })),
    ...input.statements.map((statement) => ({ order: statement.order, run: () => ledger.said(statement) })),
  ].sort((a, b) => a.order - b.order);
  for (const event of events) event.run();
  return ledger.open;
}

/** What makes an assistant's remark about a failure a report of an open one. */
const REMAINS =
  /\b(?:still|remains?|unresolved|unable|could ?n[o']t|couldnt|not (?:yet )?(?:fixed|resolved|solved)|noch|weiterhin|toujours|encore|sigue|siguen|todavia|aun|ainda|ancora)\b|все еще|по-прежнему|пока не|не удалось|仍|还是|尚未|未|まだ|여전히|아직/u;

class FailureLedger {
  open: Failure[] = [];

  recall(text: string): void {
    const key = /^`([^`]+)`/.exec(text)?.[1] ?? "";
    const at = { turn: 0, order: -1 };
    this.open.push({
      ...failureOf(text, "en", at),
      key: key.replace(/ \(in [^)]*\)$/, ""),
      told: key === "",
      weight: 7,
    });
  }

  used(use: ToolUse): void {
    if (use.outcome === "passed") this.mendByUse(use);
    else if (use.outcome === "failed") this.fail(use);
  }

  private fail(use: ToolUse): void {
    const key = keyOf(use);
    const lines = errorLines(use.call.output, 2);
    if (key === "" || lines.length === 0 || use.command?.family === "look") return;
    const label = use.kind === "command" ? `\`${key}\` failed` : `\`${key}\` failed`;
    const failure = failureOf(`${label}: ${gist(lines.join(" · "), 240)}`, "en", use.call);
    this.open = this.open.filter((other) => other.key !== key || !sameFolder(other, use));
    this.open.push({
      ...failure,
      key,
      ...(use.command?.folder !== undefined && { folder: use.command.folder }),
      family: use.command?.family ?? use.kind,
      weight: weightOf(use, lines),
      told: false,
    });
  }

  private mendByUse(use: ToolUse): void {
    const key = keyOf(use);
    if (key === "") return;
    this.open = this.open.filter((failure) => !mends(failure, use, key));
  }

  pasted(line: { text: string; turn: number; order: number }): void {
    if (
      !/^(?:Uncaught |Unhandled )?[\w.]*(?:Error|Exception)(?:\s?\[\w+\])?:\s|^error(?:\[\w+\])?:|^(?:fatal|panic):/.test(
        line.text,
      )
    )
      return;
    if (this.open.some((failure) => failure.text === line.text)) return;
    this.open.push({
      ...failureOf(`reported by the user: ${line.text.slice(0, 180)}`, "en", line),
      weight: 4,
      told: true,
    });
  }

  said(statement: Statement): void {
    const { cues } = statement;
    const complains = statement.kind === "trouble" || (cues.has("broken") && cues.has("todo"));
    if (saysItWorks(statement)) this.mendLatest(statement);
    if ((cues.has("fixed") || cues.has("did")) && !complains && !cues.has("todo")) this.mendByWord(statement);
    else if (complains && statement.kind === "trouble") this.complain(statement);
  }

  /** "Works now, thanks" means what failed last, in the turn before. */
  private mendLatest(statement: Statement): void {
    const last = this.open.findLast((failure) => failure.key !== "" && statement.turn - failure.turn <= 1);
    if (last === undefined) return;
    this.open = this.open.filter((failure) => failure !== last);
  }

  private mendByWord(statement: Statement): void {
    const values = new Set(statement.values.map((value) => value.key));
    this.open = this.open.filter((failure) => {
      const sharedValues = [...values].filter((key) => failure.values.has(key)).length;
      const sharedStems = [...statement.subject].filter((stem) => failure.subject.has(stem)).length;
      const fixed = statement.cues.has("fixed");
      if (isLeft(failure.text)) return sharedValues === 0 && sharedStems < 3;
      if (failure.told && statement.closing && statement.speaker === "assistant" && failure.turn > 0) {
        const age = statement.turn - failure.turn;
        if (age <= 3 || (age <= 6 && sharedValues + sharedStems > 0)) return false;
      }
      if (fixed) return sharedValues === 0 && sharedStems < 2;
      return !(failure.told && (sharedStems >= 2 || sharedValues > 0));
    });
  }

  private complain(statement: Statement): void {
    if (statement.speaker === "assistant" && !(statement.closing && REMAINS.test(statement.folded))) return;
    const failure = failureOf(statement.text, statement.language, statement);
    const known = this.open.find((other) => other.told && isSubset(failure.subject, other.subject));
    if (known !== undefined) return;
    this.open.push({
      ...failure,
      values: new Set(statement.values.map((value) => value.key)),
      subject: statement.subject,
      weight:
        statement.speaker === "user"
          ? 4 + Math.min(1.5, statement.values.length * 0.5)
          : 3 + (statement.closing ? 0.5 : 0),
      told: true,
    });
  }
}

function keyOf(use: ToolUse): string {
  if (use.command !== undefined) return use.command.key;
  if (use.paths.length > 0) return `${use.kind} ${use.paths[0]}`;
  if (use.kind === "todo") return "";
  const first = Object.values(use.call.args).find((value) => typeof value === "string" && value !== "");
  return `${use.call.name}${typeof first === "string" ? ` ${first.slice(0, 80).replace(/\s+/g, " ")}` : ""}`;
}

function mends(failure: Failure, use: ToolUse, key: string): boolean {
  if (failure.key === "") return false;
  if (failure.key === key) return sameFolder(failure, use);
  if (use.kind !== "command") return fileKindMends(failure, use);
  const parts = key.split(" && ");
  if (parts.includes(failure.key) || failure.key.split(" && ").every((part) => parts.includes(part)))
    return sameFolder(failure, use);
  if (
    isProjectRun(key) &&
    isDirectRun(failure.key) &&
    COMPILES.has(use.command?.family ?? "") &&
    COMPILES.has(failure.family) &&
    checksTheSame(failure.key, key)
  )
    return sameFolder(failure, use);
  if (use.command === undefined || failure.family !== use.command.family || !JUDGED.has(failure.family))
    return false;
  return parts.some((part) => failure.key.startsWith(`${part} `)) || namesItsTarget(failure, key);
}

/** A passing lint says nothing of types; a project's own "check" or "build" covers both. */
function checksTheSame(failed: string, passed: string): boolean {
  return !LINTS.test(passed) || LINTS.test(failed);
}

const LINTS =
  /\b(?:lint|eslint|biome|prettier|fmt|format|stylelint|ruff|flake8|clippy|rubocop|oxlint|xo|standard)\b/;
const COMPILES = new Set(["build", "check"]);
/** A script of the project: it covers whatever a single tool was run for by hand. */
const isProjectRun = (key: string): boolean =>
  /^(?:npm|pnpm|yarn|bun|make|cargo|go|gradle|mvn|just)\b/.test(key) && !/[\w-]+\.[a-z]{1,4}\b/.test(key);
const isDirectRun = (key: string): boolean =>
  /^(?:npx|pnpm exec|yarn exec|bunx|node_modules|\.\/node_modules|tsc|tsgo|eslint)\b/.test(key);

/** Any write to a file mends a failed edit of it; a later look at a file of that name a failed read. */
function fileKindMends(failure: Failure, use: ToolUse): boolean {
  const [kind, path] = [failure.key.split(" ", 1)[0], failure.key.slice(failure.key.indexOf(" ") + 1)];
  if (kind === "read") return use.paths.some((other) => baseName(other) === baseName(path));
  return (
    (kind === "edit" || kind === "write") &&
    use.kind !== "read" &&
    use.paths.some((other) => other.endsWith(path) || path.endsWith(other))
  );
}

/** A run of the very file that the error names. */
function namesItsTarget(failure: Failure, key: string): boolean {
  return key.split(/\s+/).some((word) => /[\w-]\.[a-z]{1,4}$/i.test(word) && failure.values.has(fold(word)));
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function sameFolder(failure: { folder?: string }, use: ToolUse): boolean {
  const [a, b] = [failure.folder, use.command?.folder];
  return a === undefined || b === undefined || a.endsWith(b) || b.endsWith(a);
}

function isSubset(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size > 0 && [...a].every((item) => b.has(item));
}

function weightOf(use: ToolUse, lines: readonly string[]): number {
  if (use.kind === "read" || use.kind === "edit") return 2;
  const telling = lines.some((line) => /error|exception|fail|E[A-Z]{4,}|denied|refused/i.test(line));
  return telling ? 8 : 4;
}

function failureOf(text: string, language: Language, at: { turn: number; order: number }): Failure {
  const values = valuesOf(text, language);
  return {
    text,
    key: "",
    family: "",
    turn: at.turn,
    order: at.order,
    weight: 5,
    values: new Set(values.map((value) => value.key)),
    subject: subjectOf(fold(text), language, values),
    told: true,
  };
}
