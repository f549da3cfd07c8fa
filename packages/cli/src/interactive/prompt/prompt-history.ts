import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { counted } from "../../views/numbers.ts";
import { MAX_PROMPTS } from "./prompt-editor.ts";

/** Longer prompts are not saved. */
const MAX_PROMPT_CHARS = 100_000;

const lineSchema = z.object({ text: z.string() });

interface PromptHistoryOptions {
  home: string;
  /** Called once if the file cannot be read or written. */
  onNotice: (message: string) => void;
}

/** Owner of `<home>/history.jsonl`: the prompts of all sessions, oldest first, one `{"text"}` a line. */
export class PromptHistory {
  readonly #file: string;
  readonly #onNotice: (message: string) => void;
  #last: string | undefined;
  #hasFault = false;

  constructor({ home, onNotice }: PromptHistoryOptions) {
    this.#file = join(home, "history.jsonl");
    this.#onNotice = onNotice;
  }

  /** The prompts, oldest first. Shortens a file far above the bound. */
  read(): string[] {
    const { texts, strangeLines, lines } = this.#parsed();
    if (strangeLines > 0) this.#setAside(strangeLines);
    const kept = texts.filter((text, at) => text !== texts[at - 1]).slice(-MAX_PROMPTS);
    // Not at each prompt: several programs append to the file.
    if (strangeLines > 0 || lines > MAX_PROMPTS * 1.5) this.#replace(kept);
    this.#last = kept.at(-1);
    return kept;
  }

  /** Skips a repeated prompt. */
  add(text: string): void {
    if (text === this.#last || text.length > MAX_PROMPT_CHARS) return;
    this.#last = text;
    this.#write(() => {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, `${isCut(this.#file) ? "\n" : ""}${lineOf(text)}`, { mode: 0o600 });
    });
  }

  /** Keeps a copy of the damaged file and reports it once. */
  #setAside(strangeLines: number): void {
    const beside = `${this.#file}.damaged`;
    this.#write(() => copyFileSync(this.#file, beside));
    this.#notify(
      `Removed ${counted(strangeLines, "unreadable line")} from ${this.#file}. The original is in ${basename(beside)}.`,
    );
  }

  #parsed(): { texts: string[]; strangeLines: number; lines: number } {
    const content = this.#content();
    const lines = content.split("\n").filter(Boolean);
    const texts = lines.flatMap((line) => textOf(line) ?? []);
    return { texts, strangeLines: lines.length - texts.length, lines: lines.length };
  }

  #content(): string {
    try {
      return readFileSync(this.#file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") this.#notifyError(error);
      return "";
    }
  }

  #replace(texts: readonly string[]): void {
    const beside = `${this.#file}.${process.pid}.tmp`;
    this.#write(() => {
      try {
        writeFileSync(beside, texts.map(lineOf).join(""), { mode: 0o600 });
        renameSync(beside, this.#file);
      } finally {
        rmSync(beside, { force: true });
      }
    });
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#notifyError(error);
    }
  }

  #notifyError(error: unknown): void {
    this.#notify(`The prompt history cannot be saved: ${(error as Error).message}`);
  }

  #notify(message: string): void {
    if (this.#hasFault) return;
    this.#hasFault = true;
    this.#onNotice(message);
  }
}

/** True if a crash cut the last line: the next line must not be joined to it. */
function isCut(file: string): boolean {
  if (!existsSync(file)) return false;
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const last = Buffer.alloc(1);
    return size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last.toString() !== "\n";
  } finally {
    closeSync(descriptor);
  }
}

function lineOf(text: string): string {
  return `${JSON.stringify({ text })}\n`;
}

function textOf(line: string): string | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data?.text;
  } catch {
    // The caller counts unreadable lines.
    return undefined;
  }
}
