import type { AgentNotice } from "@bonsai-agent/agent";
import type { StyleName } from "../terminal/theme.ts";
import { ChatBlock, type ChatLooks } from "./chat-block.ts";
import { colouredLines, hangingLines } from "./chat-text.ts";

/** Conditions to remove a line. Default: it stays as long as the chat. */
interface LineSubject {
  /** The line goes when the chat is rebuilt without this entry. */
  aboutEntryId?: string | undefined;
  /** The attempt that failed. The line goes when another attempt succeeds. */
  attempt?: Attempt | undefined;
}

/** A line outside the session. */
export interface ChatLine extends LineSubject {
  /** A function gets the columns for the text. */
  text: string | ((width: number) => string);
  /** Default: the colours in the text. */
  look?: StyleName;
}

/** An action that can fail and be tried again. */
export type Attempt = "compaction" | "move";

type NoticeLevel = AgentNotice["level"] | "error";

export interface Notice {
  level: NoticeLevel;
  message: string;
}

/** Shows a notice as a line of the chat. The level is `info` by default. */
export type Notify = (message: string, level?: NoticeLevel, subject?: LineSubject) => void;

const looks: Readonly<Record<NoticeLevel, StyleName>> = { info: "muted", warning: "warning", error: "error" };
const marks: Readonly<Record<NoticeLevel, string>> = { info: "i", warning: "!", error: "✗" };

/** A notice as a line. The mark shows its level without colours. */
export function noticeLine({ level, message }: Notice, subject: LineSubject = {}): ChatLine {
  return { text: markedText(marks[level], message), look: looks[level], ...subject };
}

export class LineBlock extends ChatBlock<Pick<ChatLooks, "theme">> {
  readonly line: ChatLine;

  constructor(line: ChatLine, looks: Pick<ChatLooks, "theme">) {
    super(looks);
    this.line = line;
  }

  protected lines(width: number): string[] {
    const { look } = this.line;
    const text = typeof this.line.text === "string" ? this.line.text : this.line.text(width - 1);
    if (text === "") return [];
    return look === undefined
      ? colouredLines(text, width)
      : hangingLines(text, width, this.looks.theme.style[look]);
  }
}

function markedText(mark: string, text: string): string {
  return text
    .split("\n")
    .map((line, at) => `${at === 0 ? mark : " "} ${line}`)
    .join("\n");
}
