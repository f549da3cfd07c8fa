import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import type { AgentNotice } from "../notice.ts";
import { errorCode } from "../tools/result-text.ts";
import {
  importsIn,
  instructionPaths,
  type ProjectInstructionsOptions,
  projectInstructions,
} from "./project-instructions.ts";
import {
  instructionFrame,
  instructionSection,
  type ProjectInstruction,
  type PromptChange,
} from "./system-prompt.ts";

/** Files to check before each request. */
const MAX_NAMED = 100;

/** The instruction files that the model knows: the digest of each text by its path; empty for no text. */
export type KnownInstructions = Readonly<Record<string, string>>;

/** A note with the instruction files that changed after the system prompt was made. */
export interface InstructionNote {
  text: string;
  known: KnownInstructions;
}

/**
 * The instructions of a session. They are read again when one of their files changes. The system prompt keeps its text,
 * so that the provider's cache stays valid: a note has the changes, until `adopt`.
 */
export class InstructionFiles {
  readonly #options: ProjectInstructionsOptions;
  readonly #onNotice: (notice: AgentNotice) => void;
  #current: readonly ProjectInstruction[] = [];
  #inPrompt: readonly ProjectInstruction[] = [];
  /** Files named with `@`. A missing file can appear later. */
  #named: readonly string[] = [];
  /** State of each path before it was read, missing ones too. */
  #seen: ReadonlyMap<string, string> = new Map();

  private constructor(options: ProjectInstructionsOptions, onNotice: (notice: AgentNotice) => void) {
    this.#options = options;
    this.#onNotice = onNotice;
  }

  /** @param onNotice called for unreadable and for changed files, now and later */
  static async open(
    options: ProjectInstructionsOptions,
    onNotice: (notice: AgentNotice) => void,
  ): Promise<InstructionFiles> {
    const files = new InstructionFiles(options, onNotice);
    await files.#read(files.#look());
    files.#inPrompt = files.#current;
    for (const { problem } of files.#current) files.#notifyUnread(problem);
    return files;
  }

  /** The most general first. */
  get current(): readonly ProjectInstruction[] {
    return this.#current;
  }

  /** The same, as the system prompt has them. */
  get inPrompt(): readonly ProjectInstruction[] {
    return this.#inPrompt;
  }

  /** Reads the files again if one has changed. */
  async renew(): Promise<void> {
    const seen = this.#look();
    if (isDeepStrictEqual(seen, this.#seen)) return;
    const before = this.#current;
    await this.#read(seen);
    this.#notifyChanges(before);
  }

  /** Puts the current texts into the system prompt. Returns the change of the prompt. */
  adopt(): PromptChange | undefined {
    const [from, to] = [instructionSection(this.#inPrompt), instructionSection(this.#current)];
    this.#inPrompt = this.#current;
    return from === to ? undefined : { from, to };
  }

  /** The files whose current text the model does not know. @param told by earlier notes, after the system prompt */
  note(told: KnownInstructions): InstructionNote | undefined {
    const current = Object.fromEntries(this.#current.map(({ path, text }) => [path, text]));
    const known = { ...knownOf(this.#inPrompt), ...told };
    const paths = [...new Set([...Object.keys(current), ...Object.keys(known)])].filter(
      (path) => (known[path] ?? "") !== digestOf(current[path]),
    );
    if (paths.length === 0) return undefined;
    const text = paths.map((path) =>
      current[path] ? instructionFrame({ path, text: current[path] }) : `${path} no longer applies.`,
    );
    return {
      text: text.join("\n\n"),
      known: Object.fromEntries(paths.map((path) => [path, digestOf(current[path])])),
    };
  }

  /** @param seen the state before: a file that changes while it is read is read again the next time */
  async #read(seen: ReadonlyMap<string, string>): Promise<void> {
    this.#current = await projectInstructions(this.#options);
    const named = this.#current.flatMap(({ text, path }) => importsIn(text, path));
    this.#named = named.slice(0, MAX_NAMED);
    // The named files are known only now.
    const later = [...this.#current.map(({ path }) => path), ...this.#named].filter(
      (path) => !seen.has(path),
    );
    this.#seen = new Map([...seen, ...looksOf(later)]);
  }

  /** Runs before each request: synchronous calls cost an eighth of asynchronous ones. */
  #look(): ReadonlyMap<string, string> {
    const read = this.#current.map(({ path }) => path);
    const places = instructionPaths(this.#options);
    return looksOf([...new Set([...places, ...read, ...this.#named])]);
  }

  #notifyChanges(before: readonly ProjectInstruction[]): void {
    const old = new Map(before.map((each) => [each.path, each]));
    const now = new Set(this.#current.map(({ path }) => path));
    const changed = this.#current.filter(({ path, text }) => text !== (old.get(path)?.text ?? ""));
    const gone = before.filter(({ path, text }) => text !== "" && !now.has(path));
    for (const { path, problem } of this.#current)
      if (problem !== old.get(path)?.problem) this.#notifyUnread(problem);
    const sentences = [
      ...changed.map(({ path, text }) =>
        text === "" ? `${path} is empty and no longer applies.` : `${path} was read again.`,
      ),
      ...gone.map(({ path }) => `${path} was removed and no longer applies.`),
    ];
    if (sentences.length === 0) return;
    const message = `Instructions changed: ${sentences.join(" ")}`;
    this.#onNotice({ level: "info", code: "instructions_changed", message });
  }

  #notifyUnread(message: string | undefined): void {
    if (message !== undefined) this.#onNotice({ level: "warning", code: "instructions_unread", message });
  }
}

function knownOf(instructions: readonly ProjectInstruction[]): KnownInstructions {
  return Object.fromEntries(instructions.map(({ path, text }) => [path, digestOf(text)]));
}

function digestOf(text = ""): string {
  return text === "" ? "" : createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function looksOf(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(paths.map((path) => [path, lookOf(path)]));
}

/** Returns a text that changes with the file. Follows links. */
function lookOf(path: string): string {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? "" : `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`;
  } catch (error) {
    return String(errorCode(error));
  }
}
