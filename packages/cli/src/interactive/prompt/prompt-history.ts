import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeWholeFile } from "@bonsai-agent/models/host";
import { z } from "zod";
import { MAX_PROMPTS } from "./prompt-editor.ts";

/** Longer prompts are not saved. */
const MAX_PROMPT_CHARS = 100_000;

const lineSchema = z.object({ text: z.string() });

/** Owner of `<home>/history.jsonl`: the prompts of all sessions, oldest first, one `{"text"}` a line. */
export class PromptHistory {
  readonly #file: string;
  readonly #onNotice: (message: string) => void;
  #last: string | undefined;
  #hasFault = false;

  /** @param onNotice called once if the file cannot be read or written */
  constructor(home: string, onNotice: (message: string) => void) {
    this.#file = join(home, "history.jsonl");
    this.#onNotice = onNotice;
  }

  /** The prompts, oldest first. Skips unreadable lines and shortens a file far above the bound. */
  read(): string[] {
    let content = "";
    this.#safely(() => {
      content = readFileSync(this.#file, "utf8");
    });
    const lines = content.split("\n").filter(Boolean);
    const texts = lines.flatMap((line) => textOf(line) ?? []);
    const kept = texts.filter((text, at) => text !== texts[at - 1]).slice(-MAX_PROMPTS);
    // Not at each prompt: several programs append to the file.
    if (lines.length > MAX_PROMPTS * 1.5)
      this.#safely(() => writeWholeFile(this.#file, kept.map(lineOf).join("")));
    this.#last = kept.at(-1);
    return kept;
  }

  add(text: string): void {
    if (text === this.#last || text.length > MAX_PROMPT_CHARS) return;
    this.#last = text;
    this.#safely(() => {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      appendFileSync(this.#file, lineOf(text), { mode: 0o600 });
    });
  }

  #safely(use: () => void): void {
    try {
      use();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (this.#hasFault || code === "ENOENT") return;
      this.#hasFault = true;
      this.#onNotice(`The prompt history cannot be saved: ${message}`);
    }
  }
}

function lineOf(text: string): string {
  return `${JSON.stringify({ text })}\n`;
}

function textOf(line: string): string | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data?.text;
  } catch {
    return undefined;
  }
}
