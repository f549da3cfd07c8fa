import { contentBlocks, type Message, messageText } from "@bonsai-agent/messages";
import { LanguageVotes, languageOf } from "./language.ts";
import type { Language } from "./lexicon/lexicons.ts";
import { type ProseLine, prose } from "./prose.ts";

export type Speaker = "user" | "assistant";

/** A line somebody said, with its place in the conversation. */
export interface SaidLine extends ProseLine {
  speaker: Speaker;
  /** Turns count from 1; 0 is what came before the first user message. */
  turn: number;
  /** Counts messages. */
  order: number;
  language: Language;
  /** Said by the assistant with no tool call beside it: an answer, not a remark in passing. */
  closing: boolean;
  /** The message was cut off in this line. */
  cut?: boolean;
}

/** A tool call, or a command run by the user, with what came of it. */
export interface Call {
  name: string;
  args: Record<string, unknown>;
  turn: number;
  order: number;
  output: string;
  outcome: "ok" | "failed" | "aborted" | "unknown";
}

/** One user message and what followed. */
export interface Turn {
  turn: number;
  /** Counts messages. */
  order: number;
  language: Language;
  /** The user's own prose, without pastes. */
  request: string;
  aborted: boolean;
  /** False when the turn's last assistant message still called tools. */
  answered: boolean;
}

export interface Transcript {
  turns: Turn[];
  said: SaidLine[];
  calls: Call[];
  /** Machine text that users pasted: error lines and the like. */
  pasted: Array<{ text: string; turn: number; order: number }>;
  /** Summaries met among the messages, oldest first. */
  summaries: string[];
}

const CUT_OFF: ReadonlySet<string> = new Set(["aborted", "error", "length"]);
const MAX_OUTPUT_CHARS = 6_000;
const INTERRUPTED =
  /^(Request was aborted|Command aborted|\[Request interrupted|Operation aborted|The user (doesn't want|rejected))/;

/** Reads messages into what was said, what was done and what came of it. Total: damaged messages read as empty. */
export function transcriptOf(messages: readonly Message[]): Transcript {
  const reader = new TranscriptReader();
  messages.forEach((message, order) => {
    if (typeof message === "object" && message !== null) reader.read(message, order);
  });
  return reader.transcript;
}

class TranscriptReader {
  readonly transcript: Transcript = { turns: [], said: [], calls: [], pasted: [], summaries: [] };
  private readonly open = new Map<string, Call>();
  private readonly votes = { user: new LanguageVotes(), assistant: new LanguageVotes() };
  private turn = 0;

  read(message: Message, order: number): void {
    if (message.role === "user") this.readUser(safeText(message), order);
    else if (message.role === "assistant") this.readAssistant(message, order);
    else if (message.role === "toolResult") this.readResult(message);
    else if (message.role === "bashExecution") this.readExecution(message, order);
    else if (message.role === "branchSummary" || message.role === "compactionSummary")
      this.readSummary(message.summary);
  }

  private readSummary(summary: unknown): void {
    if (typeof summary === "string") this.transcript.summaries.push(summary);
  }

  private readUser(text: string, order: number): void {
    if (text.trim() === "") return;
    if (
      /^(?:<summary>|The conversation history before this point|This session is being continued)/.test(text)
    ) {
      this.transcript.summaries.push(text);
      return;
    }
    const { lines, machine } = prose(text);
    this.turn++;
    const own = lines.filter((line) => !line.pasted).map((line) => line.text);
    this.say(lines, "user", order, false);
    this.transcript.turns.push({
      turn: this.turn,
      order,
      language: this.votes.user.current,
      request: own.join("\n"),
      aborted: false,
      answered: false,
    });
    for (const line of machine) this.transcript.pasted.push({ text: line, turn: this.turn, order });
  }

  private say(lines: ProseLine[], speaker: Speaker, order: number, closing: boolean): void {
    const language = this.votes[speaker].hear(lines.map((line) => line.text).join("\n"));
    for (const line of lines)
      this.transcript.said.push({
        ...line,
        speaker,
        turn: this.turn,
        order,
        language: languageOf(line.text, language),
        closing,
      });
  }

  private readAssistant(message: Extract<Message, { role: "assistant" }>, order: number): void {
    const calls = contentBlocks(message.content).filter((block) => block.type === "toolCall");
    const turn = this.transcript.turns.at(-1);
    if (turn !== undefined) {
      turn.aborted = message.stopReason === "aborted";
      turn.answered = calls.length === 0 && message.stopReason === "stop";
    }
    this.say(prose(safeText(message)).lines, "assistant", order, calls.length === 0);
    const last = this.transcript.said.at(-1);
    if (last?.order === order && CUT_OFF.has(message.stopReason)) last.cut = true;
    for (const block of calls) this.openCall(block, order);
  }

  private openCall(block: Record<string, unknown>, order: number): void {
    const args = typeof block.arguments === "object" && block.arguments !== null ? block.arguments : {};
    const call: Call = {
      name: typeof block.name === "string" ? block.name : "tool",
      args: args as Record<string, unknown>,
      turn: this.turn,
      order,
      output: "",
      outcome: "unknown",
    };
    this.transcript.calls.push(call);
    if (typeof block.id === "string") this.open.set(block.id, call);
  }

  private readResult(message: Extract<Message, { role: "toolResult" }>): void {
    const call = this.open.get(message.toolCallId);
    if (call === undefined) return;
    call.output = ends(safeText(message));
    if (INTERRUPTED.test(call.output) || /Command aborted\s*$/.test(call.output)) call.outcome = "aborted";
    else call.outcome = message.isError === true ? "failed" : "ok";
  }

  private readExecution(message: Extract<Message, { role: "bashExecution" }>, order: number): void {
    if (message.excludeFromContext === true || typeof message.command !== "string") return;
    const failed = typeof message.exitCode === "number" && message.exitCode !== 0;
    this.transcript.calls.push({
      name: "bash",
      args: { command: message.command },
      turn: this.turn,
      order,
      output: ends(typeof message.output === "string" ? message.output : ""),
      outcome: message.cancelled === true ? "aborted" : failed ? "failed" : "ok",
    });
  }
}

function safeText(message: Message): string {
  const text: unknown = messageText(message);
  return typeof text === "string" ? text : "";
}

/** Head and tail of a long output: errors stand at the end, headlines at the start. */
function ends(text: string): string {
  if (text.length <= MAX_OUTPUT_CHARS) return text;
  return `${text.slice(0, MAX_OUTPUT_CHARS / 3)}\n${text.slice((-MAX_OUTPUT_CHARS * 2) / 3)}`;
}
