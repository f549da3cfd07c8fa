import type { LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { contentText } from "@bonsai-agent/messages";
import type { ContextEditEntry, CustomEntry, EntryOf, Session } from "@bonsai-agent/session";
import { isHiding } from "@bonsai-agent/session/host";
import { errorText } from "../../views/error-text.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { ChatDrawings } from "../extension-views/chat-drawings.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Component } from "../terminal/tui.ts";
import { AnswerView } from "./answer-view.ts";
import { type ChatLooks, HiddenMark } from "./chat-block.ts";
import { ChatHistory, type ChatItem } from "./chat-history.ts";
import { ChatImages } from "./chat-images.ts";
import { CodeHighlighter } from "./code-highlighter.ts";
import { EntryBlock, NoteBlock, SummaryBlock } from "./entry-blocks.ts";
import { type Attempt, type ChatLine, LineBlock, type Notify, noticeLine } from "./line-block.ts";
import { MessageBlocks } from "./message-blocks.ts";

interface Foldable extends Component {
  expand(isExpanded: boolean): void;
}

/** Shows the path of the session and the current answer. */
export class ChatView {
  readonly #screen: Screen;
  readonly #looks: ChatLooks;
  readonly #messages: MessageBlocks;
  readonly #drawings: ChatDrawings | undefined;
  readonly #images: ChatImages;
  readonly #history: ChatHistory;
  #shown: Foldable[] = [];
  #session: Session | undefined;
  #isExpanded = false;
  #thinkingLabel: string | undefined;
  /** Number of blocks at the request for another session. */
  #leftAt = Number.POSITIVE_INFINITY;
  readonly #failures = new WeakSet<Error>();

  constructor(
    screen: Screen,
    { drawings, now = Date.now }: { drawings?: ChatDrawings | undefined; now?: () => number } = {},
  ) {
    this.#screen = screen;
    this.#drawings = drawings;
    this.#history = new ChatHistory((customType) => drawings?.hasEntry(customType) === true);
    const highlighter = new CodeHighlighter(() => {
      for (const each of this.#shown) if (each instanceof AnswerView) each.invalidate();
      screen.redraw();
    });
    this.#images = new ChatImages(() => screen.rows);
    const { theme } = screen;
    this.#looks = {
      theme,
      highlighter,
      images: this.#images,
      drawings,
      now,
      thinkingLabel: () => this.#thinkingLabel,
    };
    this.#messages = new MessageBlocks(this.#looks, () => this.#isExpanded);
  }

  /** Replaces the text of folded thinking; undefined restores it. */
  setThinkingLabel(label: string | undefined): void {
    this.#thinkingLabel = label === undefined ? undefined : oneLine(label, 80) || undefined;
    for (const each of this.#shown) each.invalidate();
    this.#screen.redraw();
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    this.#listenToMessages(lifecycle);
    this.#listenToTools(lifecycle);
    for (const event of ["session_before_switch", "session_before_fork"] as const)
      lifecycle.on(event, () => {
        this.#leftAt = this.#shown.length;
      });
    lifecycle.on("agent_end", ({ result }) => this.#ended(result));
    lifecycle.on("session_mask", ({ entries }) => {
      for (const { targetId } of entries) this.#messages.mask(targetId, "whole");
      this.#screen.redraw();
    });
  }

  #listenToMessages(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_start", ({ message }) => this.#addNew(this.#messages.begin(message)));
    lifecycle.on("message_update", ({ message }) => this.#addNew(this.#messages.grow(message)));
    lifecycle.on("message_stored", ({ message, entryId }) =>
      this.#addNew(this.#messages.store(message, entryId)),
    );
  }

  #listenToTools(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
      const known = this.#messages.call(toolCallId);
      const block = known ?? this.#messages.makeCall({ id: toolCallId, name: toolName, arguments: args });
      if (known === undefined) this.#add(block);
      block.setState("running");
      this.#screen.redraw();
    });
    lifecycle.on("tool_execution_update", ({ toolCallId, partialResult }) => {
      this.#messages.call(toolCallId)?.setOutput(partialResult);
      this.#screen.redraw();
    });
    lifecycle.on("tool_execution_end", ({ toolCallId, result, isError }) => {
      const block = this.#messages.call(toolCallId);
      block?.setOutput(result);
      block?.setState(isError ? "failed" : "done");
      this.#screen.redraw();
    });
  }

  /**
   * Shows the path of the session.
   * @param succeeded the action whose failures are out of date
   */
  rebuild(session: Session, succeeded?: Attempt): void {
    const unread = this.#unread(session).filter((each) => !isOutdated(each, succeeded));
    this.#leftAt = Number.POSITIVE_INFINITY;
    this.#session = session;
    this.#screen.chat.clear();
    this.#shown = [];
    this.#images.clear();
    this.#messages.clear();
    const { items, hasEarlier } = this.#history.path(session);
    if (hasEarlier)
      this.line({ text: "Earlier messages are not shown. Run /tree to see them.", look: "muted" });
    for (const item of items) this.#show(item);
    for (const each of unread) this.#add(each);
    this.#screen.redrawOther();
  }

  /** Lines that the user may not have read: from before the session was open, or after its last message. */
  #unread(session: Session): Foldable[] {
    if (this.#session === undefined) return this.#shown;
    // In another session, the lines since the user asked for it.
    if (this.#session !== session)
      return this.#shown.slice(this.#leftAt).filter((each) => each instanceof LineBlock);
    const unread = this.#shown.slice(this.#shown.findLastIndex((each) => !(each instanceof LineBlock)) + 1);
    return unread.filter((each) => !(each instanceof LineBlock) || !isAboutAnotherPath(each.line, session));
  }

  isShowing(session: Session): boolean {
    return this.#session === session;
  }

  showEntry(entry: CustomEntry): void {
    if (this.#drawings?.hasEntry(entry.customType) !== true) return;
    this.#add(new EntryBlock(entry, this.#looks));
    this.#screen.redraw();
  }

  /** Draws the chat with the present extensions. */
  redrawDrawn(): void {
    const session = this.#session;
    const shown = this.#shown.filter((each) => each instanceof EntryBlock).length;
    const isSame = session === undefined || this.#history.drawnCount(session) === shown;
    if (!isSame) {
      this.rebuild(session);
      return;
    }
    for (const each of this.#shown) each.invalidate();
    this.#screen.redraw();
  }

  /** @returns redraws the line when its text has changed */
  line(line: ChatLine): () => void {
    const block = new LineBlock(line, this.#looks);
    this.#add(block);
    this.#screen.redraw();
    return () => {
      block.invalidate();
      this.#screen.redraw();
    };
  }

  readonly notify: Notify = (message, level = "info", subject) => {
    this.line(noticeLine({ level, message }, subject));
  };

  showsFailure(error: RunResult["error"]): boolean {
    return error !== undefined && this.#failures.has(error);
  }

  #ended({ status, error }: RunResult): void {
    if (status !== "failed" || error === undefined) return;
    this.#failures.add(error);
    const line = noticeLine({ level: "error", message: errorText(error) });
    const last = this.#shown.findLast((each) => !(each instanceof LineBlock));
    if (!(last instanceof AnswerView && last.explain(line))) this.line(line);
    this.#screen.redraw();
  }

  toggleExpanded(): void {
    this.#isExpanded = !this.#isExpanded;
    for (const each of this.#shown) each.expand(this.#isExpanded);
    if (this.#isExpanded) this.#screen.redrawOther();
    else this.#screen.redraw();
  }

  get isExpanded(): boolean {
    return this.#isExpanded;
  }

  #add(block: Foldable): void {
    block.expand(this.#isExpanded);
    this.#shown.push(block);
    this.#screen.chat.addChild(block);
  }

  /** Redraws in every case: a block may have grown. */
  #addNew(block: Foldable | undefined): void {
    if (block !== undefined) this.#add(block);
    this.#screen.redraw();
  }

  #show({ entry, edit, isUndone, loss }: ChatItem): void {
    switch (entry.type) {
      case "compaction":
      case "branch_summary":
        this.#add(new SummaryBlock({ entry, isUndone: isUndone === true, loss }, this.#looks));
        break;
      case "custom_message":
        this.#add(new NoteBlock(entry, this.#looks));
        break;
      case "custom":
        this.#add(new EntryBlock(entry, this.#looks));
        break;
      case "message":
        this.#addNew(this.#messages.begin(entry.message));
        this.#addNew(this.#messages.store(entry.message, entry.id));
        if (edit !== undefined) this.#mark(entry, edit);
        break;
      default:
    }
  }

  /** Shows which part of a message the model does not see. */
  #mark(entry: EntryOf<"message">, edit: ContextEditEntry): void {
    const how = isHiding(edit) ? "hidden" : isMaskEdit(edit) ? "whole" : "part";
    const { role } = entry.message;
    if (role === "toolResult" || role === "bashExecution") this.#messages.mask(entry.id, how);
    else if (how === "hidden" && !isFailed(entry)) this.#add(new HiddenMark(this.#looks));
  }
}

/** Bonsai hides failed answers, and their block says that they failed. */
function isFailed({ message }: EntryOf<"message">): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

function isOutdated(block: Foldable, succeeded: Attempt | undefined): boolean {
  return succeeded !== undefined && block instanceof LineBlock && block.line.attempt === succeeded;
}

function isAboutAnotherPath({ aboutEntryId }: ChatLine, session: Session): boolean {
  if (aboutEntryId === undefined) return false;
  for (const { id } of session.tail()) if (id === aboutEntryId) return false;
  return true;
}

/** True for an edit that clears a tool result; others leave a part of the message in the model's view. */
function isMaskEdit({ replacement }: Pick<ContextEditEntry, "replacement">): boolean {
  return contentText(replacement?.content) === MASK_PLACEHOLDER;
}
