import { stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { AgentNotice } from "../notice.ts";
import {
  importsIn,
  instructionPaths,
  type ProjectInstruction,
  type ProjectInstructionsOptions,
  projectInstructions,
} from "./project-instructions.ts";
import { instructionSection, type PromptChange } from "./system-prompt.ts";

/** Files to check before each request. */
const MAX_NAMED = 100;

/** The instructions of a session. They are in the system prompt, and are read again when one of their files changes. */
export class InstructionFiles {
  readonly #options: ProjectInstructionsOptions;
  readonly #onNotice: (notice: AgentNotice) => void;
  #current: readonly ProjectInstruction[] = [];
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
    await files.#read(await files.#look());
    for (const { problem } of files.#current) files.#notifyUnread(problem);
    return files;
  }

  /** The most general first. */
  get current(): readonly ProjectInstruction[] {
    return this.#current;
  }

  /** Reads the files again if one has changed. Returns the change of the prompt. */
  async renew(): Promise<PromptChange | undefined> {
    const seen = await this.#look();
    if (isDeepStrictEqual(seen, this.#seen)) return undefined;
    const before = this.#current;
    await this.#read(seen);
    this.#notifyChanges(before);
    const [from, to] = [instructionSection(before), instructionSection(this.#current)];
    return from === to ? undefined : { from, to };
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
    this.#seen = new Map([...seen, ...(await looksOf(later))]);
  }

  async #look(): Promise<ReadonlyMap<string, string>> {
    const read = this.#current.map(({ path }) => path);
    const places = await instructionPaths(this.#options);
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

async function looksOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all(paths.map(async (path) => [path, await lookOf(path)] as const)));
}

/** Returns a text that changes with the file. Follows links. */
async function lookOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeMs, ctimeMs } = await stat(path);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
