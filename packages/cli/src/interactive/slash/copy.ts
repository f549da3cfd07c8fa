import { writeClipboard } from "@bonsai-agent/extension/host";
import { BonsaiError, messageText, textHead } from "@bonsai-agent/messages";
import type { Entry, Session } from "@bonsai-agent/session";
import { bytes, counted } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askPick } from "../panels/ask.ts";
import { textLines } from "../panels/panel-frame.ts";

export const copyCommand: SlashCommand = {
  name: "copy",
  key: "copy",
  description: "Copy the last answer, or one of its code blocks by number",
  argumentHint: "[number|all]",
  worksWhileBusy: true,
  async run(args, context) {
    const answer = lastAnswer(context.host.agent.session);
    if (answer === undefined) return context.notify("There is no answer to copy yet.");
    const part = await chosenPart(await partsOf(answer), args, context);
    if (part !== undefined) await copy(part, context);
  },
};

interface AnswerPart {
  name: string;
  text: string;
}

function lastAnswer(session: Session): string | undefined {
  return answerIn(session.tail()) ?? answerIn(session.path().reverse());
}

/** @param entries newest first */
function answerIn(entries: Iterable<Entry>): string | undefined {
  for (const entry of entries) {
    if (entry.type !== "message" || entry.message.role !== "assistant") continue;
    const text = messageText(entry.message).trim();
    if (text !== "") return text;
  }
  return undefined;
}

async function partsOf(answer: string): Promise<readonly [AnswerPart, ...AnswerPart[]]> {
  // Loads a Markdown parser, so not at the start.
  const { codeBlocks } = await import("@bonsai-agent/transcripts");
  const blocks = codeBlocks(answer).map(({ code, language }, at) => ({
    name: `code block ${at + 1}${language === "" ? "" : `, ${oneLine(language, 20)}`}`,
    text: code,
  }));
  return [{ name: "the last answer", text: answer }, ...blocks];
}

async function chosenPart(
  parts: readonly [AnswerPart, ...AnswerPart[]],
  args: string,
  { screen }: InteractiveContext,
): Promise<AnswerPart | undefined> {
  if (args === "all" || (args === "" && parts.length === 1)) return parts[0];
  if (args !== "") return numbered(parts, args);
  return askPick(screen, {
    title: "Copy what?",
    items: parts,
    key: ({ name }) => name,
    text: ({ name, text }) => `${name} ${text}`,
    row: ({ name, text }) => ({ label: name, detail: counted(text.split("\n").length, "line") }),
    picks: "copy",
    preview: ({ text }, width) => textLines(textHead(text, 2_000), width),
  });
}

function numbered(parts: readonly AnswerPart[], args: string): AnswerPart {
  const part = /^[1-9]\d{0,5}$/.test(args) ? parts[Number(args)] : undefined;
  if (part !== undefined) return part;
  const blocks = parts.length - 1;
  throw new BonsaiError({
    code: "wrong_usage",
    message: `/copy ${oneLine(args, 40)}: the last answer has ${blocks === 0 ? "no code blocks" : counted(blocks, "code block")}.`,
    hint: `Use /copy${blocks === 0 ? "" : `, /copy ${blocks === 1 ? "1" : `1 to ${blocks}`}`} or /copy all.`,
  });
}

/** Copies with the desktop's program or tmux, else through the terminal, for example over SSH. */
export async function copy({ name, text }: AnswerPart, context: InteractiveContext): Promise<void> {
  const { host, screen, notify, interruptible } = context;
  const env = { ...host.app.call.io.env };
  const what = `${name} (${bytes(Buffer.byteLength(text))})`;
  const by = await interruptible((signal) =>
    writeClipboard(text, { env, signal }).catch((error) => {
      if (!signal.aborted) throw error;
      return ABORTED;
    }),
  );
  if (by === ABORTED) return;
  if (by !== undefined)
    return notify(
      `Copied ${what}${by === "tmux" ? " to the tmux buffer. The tmux option set-clipboard decides if your terminal's clipboard gets it too" : ""}.`,
    );
  const sequence = textForTerminal(text, env);
  if (sequence === undefined) throw tooLong(what);
  screen.tui.terminal.write(sequence);
  notify(`Sent ${what} to the terminal (OSC 52). Some terminals do not allow this.`);
}

const ABORTED = "aborted";

function tooLong(what: string): BonsaiError {
  return new BonsaiError({
    code: "copy_too_long",
    message: `Could not copy ${what}: no clipboard program found, and terminals accept at most ${bytes(MAX_COPIED_BYTES)}.`,
    hint: "Install wl-clipboard or xclip, copy a single code block, or write a file with /export FILE.",
  });
}

/** Terminals cut or drop a sequence of more than 100,000 bytes; the text is sent as base64. */
export const MAX_COPIED_BYTES = 74_994;

/** The sequence that copies a text with the terminal (OSC 52), also through tmux; undefined for a text that is too long. */
export function textForTerminal(
  text: string,
  { TMUX, STY }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_COPIED_BYTES) return undefined;
  const sequence = `\x1b]52;c;${bytes.toString("base64")}\x07`;
  // tmux takes it itself with set-clipboard on, and passes it on with allow-passthrough on.
  if (TMUX) return `${sequence}\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
  return STY ? screenPieces(sequence) : sequence;
}

/** GNU screen passes on strings of no more than some hundred bytes; the terminal joins them. */
function screenPieces(sequence: string): string {
  const pieces = sequence.match(/.{1,240}/gs) ?? [];
  return pieces.map((piece) => `\x1bP${piece}\x1b\\`).join("");
}
