import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import { raceAbort } from "@bonsai-agent/messages/host";
import { type Line, marked, span } from "../views/line.ts";
import { printableLines } from "../views/terminal-text.ts";
import type { CliIo, InStream } from "./io.ts";
import { linesIn } from "./json-lines.ts";
import type { Output } from "./output.ts";
import { dialogEnd, oneAfterTheOther } from "./questions.ts";

interface TerminalUiOptions {
  io: CliIo;
  output: Output;
  /** Interrupts the call: questions then get no answer. */
  signal: AbortSignal;
  /** Called before output, to end a line on the screen. */
  onShow?: () => void;
}

interface TerminalUi extends FrontEndUI {
  close(): void;
}

/**
 * Asks in lines on standard error, one question at a time, so that Ctrl-C stays a signal. Undefined without a
 * terminal.
 */
export function terminalUi({
  io,
  output,
  signal,
  onShow = () => {},
}: TerminalUiOptions): TerminalUi | undefined {
  const { stdin, stderr } = io;
  if (stdin?.isTTY !== true || stderr.isTTY !== true) return undefined;
  const answers = new AnswerLines(stdin);
  const closed = new AbortController();
  const ended = AbortSignal.any([signal, closed.signal]);
  const show = (...lines: Line[]) => {
    onShow();
    output.question(...lines);
  };
  const ask = async (before: string, end: AbortSignal): Promise<string | undefined> => {
    if (end.aborted) return undefined;
    stderr.write(before);
    const line = await answers.line(end);
    // The cursor is still after the unanswered question.
    if (line === undefined) stderr.write("\n");
    return line;
  };
  return {
    ...dialogs({ show, ask, ended }),
    notify: (message, type = "info") => {
      onShow();
      const [mark, style] = marks[type] ?? marks.info;
      output.note(...marked(span(`${mark} `, style), printableLines(message)));
    },
    // Lines have no fixed place for changing texts.
    setStatus: () => {},
    setWidget: () => {},
    setTitle: () => {},
    setEditorText: () => {},
    getEditorText: () => "",
    close() {
      closed.abort();
      answers.close();
    },
  };
}

/** Asks a yes-or-no question. @throws the refusal without a terminal */
export function confirmed(
  { io, output }: Pick<TerminalUiOptions, "io" | "output">,
  question: string,
  refusal: () => Error,
): Promise<boolean> {
  return io.interruptible(async (signal) => {
    const ui = terminalUi({ io, output, signal });
    if (ui === undefined) throw refusal();
    try {
      return await ui.confirm(question, "", { signal });
    } finally {
      ui.close();
    }
  });
}

interface Asking {
  show: (...lines: Line[]) => void;
  /** Shows a prompt and resolves with the typed line; undefined without an answer. */
  ask: (before: string, end: AbortSignal) => Promise<string | undefined>;
  ended: AbortSignal;
}

function dialogs({ show, ask, ended }: Asking): Pick<FrontEndUI, "select" | "confirm" | "input" | "editor"> {
  const asked = oneAfterTheOther();
  /** Asks after the earlier questions; undefined without an answer. */
  const inTurn = <Answer>(
    settings: DialogOptions | undefined,
    question: (end: AbortSignal) => Promise<Answer>,
  ): Promise<Answer | undefined> =>
    asked(async () => {
      const end = dialogEnd(ended, settings);
      return end.aborted ? undefined : question(end);
    });
  return {
    select: (title, options, settings) =>
      inTurn(settings, async (end) => {
        if (options.length === 0) return undefined;
        show(...questionLines(title), ...options.flatMap((option, at) => textLines(`${at + 1}) ${option}`)));
        for (;;) {
          const line = await ask("  Number (empty: none): ", end);
          const chosen = line?.trim() ?? "";
          if (chosen === "") return undefined;
          const option = options[Number(chosen) - 1] ?? options.find((each) => each.trim() === chosen);
          if (option !== undefined) return option;
          show(...textLines(`Type a number from 1 to ${options.length}.`));
        }
      }),
    confirm: async (title, message, settings) => {
      const answer = await inTurn(settings, (end) => {
        show(...questionLines(title), ...(message === "" ? [] : textLines(message)));
        return ask("  y/N: ", end);
      });
      return /^(y|yes)$/i.test(answer?.trim() ?? "");
    },
    input: (title, placeholder, settings) =>
      inTurn(settings, (end) => {
        show(...questionLines(placeholder === undefined ? title : `${title} (${placeholder})`));
        return ask("  > ", end);
      }),
    editor: (title, prefill = "") =>
      inTurn(undefined, async () => {
        show(...questionLines(title), ...(prefill === "" ? [] : textLines(prefill)));
        show(...textLines(prefill === "" ? "To finish, enter a line with a single dot." : keepWords));
        const lines: string[] = [];
        for (;;) {
          const line = await ask("  > ", ended);
          if (line === undefined) return undefined;
          if (line === ".") return lines.length === 0 ? prefill : lines.join("\n");
          lines.push(line);
        }
      }),
  };
}

const keepWords =
  "To keep this text, enter a single dot. To replace it, type the new text, then a single dot.";

const marks = { info: ["i", "cyan"], warning: ["!", "yellow"], error: ["✗", "red"] } as const;

function questionLines(title: string): Line[] {
  return marked(span("? ", "cyan"), printableLines(title), "bold");
}

function textLines(text: string): Line[] {
  return printableLines(text).map((line) => ["  ", line]);
}

const MAX_LINE_BYTES = 1_000_000;

/** Owner of the typed lines. A line that comes after its question ended answers the next one. */
class AnswerLines {
  readonly #stdin: InStream;
  #lines: AsyncGenerator<{ text: string } | { tooLong: number }> | undefined;
  #next: Promise<string | undefined> | undefined;

  constructor(stdin: InStream) {
    this.#stdin = stdin;
  }

  /** Undefined at the end of the input, or at the abort. */
  async line(signal: AbortSignal): Promise<string | undefined> {
    this.#next ??= this.#read();
    const line = await raceAbort(this.#next, signal, () => undefined);
    if (!signal.aborted) this.#next = undefined;
    return line;
  }

  /** An open input would keep the process alive. */
  close(): void {
    if (this.#lines !== undefined) this.#stdin.destroy?.();
  }

  async #read(): Promise<string | undefined> {
    this.#lines ??= linesIn(this.#stdin, MAX_LINE_BYTES);
    try {
      const { value, done } = await this.#lines.next();
      return done || value === undefined ? undefined : "text" in value ? value.text : "";
    } catch {
      // The terminal is gone.
      return undefined;
    }
  }
}
