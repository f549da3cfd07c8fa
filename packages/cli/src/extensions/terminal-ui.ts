import type { FrontEndUI } from "@bonsai-agent/extension";
import type { CliIo } from "../io.ts";
import type { Output } from "../output.ts";
import { type Line, span } from "../views/line.ts";
import { printableLines } from "../views/printable.ts";
import { AnswerLines } from "./answer-lines.ts";
import { dialogEnd } from "./dialog-end.ts";
import { oneAfterTheOther } from "./one-after-the-other.ts";

export interface TerminalUiOptions {
  io: CliIo;
  output: Output;
  /** Interrupts the call: questions are answered as if nobody were there from then on. */
  signal: AbortSignal;
  /** Called before anything is shown: what else is on the screen ends its line. */
  onShow?: () => void;
}

export interface TerminalUi extends FrontEndUI {
  /** Nobody is asked any more. */
  close(): void;
}

/**
 * Asks in lines on standard error, one question after the other. The terminal stays as it is, so that Ctrl-C is the
 * signal that it always is. Undefined where nobody sits at a terminal, and where standard input is a pipe.
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
    output.say(...lines);
  };
  /** Shows what stands before the cursor, and waits for the line behind it. */
  const ask = async (before: string, end: AbortSignal): Promise<string | undefined> => {
    if (end.aborted) return undefined;
    stderr.write(before);
    const line = await answers.line(end);
    // The cursor stands behind a question that nobody answered.
    if (line === undefined) stderr.write("\n");
    return line;
  };
  return {
    ...dialogs({ show, ask, ended }),
    notify: (message, type = "info") => {
      onShow();
      const [mark, style] = marks[type] ?? marks.info;
      output.notice(
        ...printableLines(message).map((line, at): Line => [span(at === 0 ? `${mark} ` : "  ", style), line]),
      );
    },
    // There is no place that stays: what comes and goes would only scroll by.
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

interface Asking {
  show: (...lines: Line[]) => void;
  /** Resolves with the line behind what stands before the cursor; undefined where nobody answers. */
  ask: (before: string, end: AbortSignal) => Promise<string | undefined>;
  ended: AbortSignal;
}

function dialogs({ show, ask, ended }: Asking): Pick<FrontEndUI, "select" | "confirm" | "input" | "editor"> {
  const asked = oneAfterTheOther();
  return {
    select: (title, options, settings) =>
      asked(async () => {
        const end = dialogEnd(ended, settings);
        if (end.aborted || options.length === 0) return undefined;
        show(...questionLines(title), ...options.flatMap((option, at) => textLines(`${at + 1}) ${option}`)));
        for (;;) {
          const line = await ask("  Number, or nothing for none: ", end);
          const chosen = line?.trim() ?? "";
          if (chosen === "") return undefined;
          const option = options[Number(chosen) - 1] ?? options.find((each) => each.trim() === chosen);
          if (option !== undefined) return option;
          show(...textLines(`Type a number from 1 to ${options.length}.`));
        }
      }),
    confirm: (title, message, settings) =>
      asked(async () => {
        const end = dialogEnd(ended, settings);
        if (end.aborted) return false;
        show(...questionLines(title), ...(message === "" ? [] : textLines(message)));
        return /^(y|yes)$/i.test((await ask("  y/N: ", end))?.trim() ?? "");
      }),
    input: (title, placeholder, settings) =>
      asked(async () => {
        const end = dialogEnd(ended, settings);
        if (end.aborted) return undefined;
        show(...questionLines(placeholder === undefined ? title : `${title} (${placeholder})`));
        return ask("  > ", end);
      }),
    editor: (title, prefill = "") =>
      asked(async () => {
        if (ended.aborted) return undefined;
        show(...questionLines(title), ...(prefill === "" ? [] : textLines(prefill)));
        show(...textLines(prefill === "" ? "End with a line with a lone dot." : keepWords));
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
  "A lone dot at once keeps that text; else type another, and end with a line with a lone dot.";

const marks = { info: ["i", "cyan"], warning: ["!", "yellow"], error: ["✗", "red"] } as const;

function questionLines(title: string): Line[] {
  return printableLines(title).map((line, at) => [span(at === 0 ? "? " : "  ", "cyan"), span(line, "bold")]);
}

function textLines(text: string): Line[] {
  return printableLines(text).map((line) => ["  ", line]);
}
