import { type AssistantMessage, contentText, isRecord, type Usage } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { userDrafts } from "../import/injected.ts";
import { type Fields, fieldsAt, isoTime, stringAt, stringsAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  assistantDraft,
  countSkipped,
  injectedDraft,
  maskDraft,
  omitDraft,
  resultDraft,
  StepList,
} from "../import/step.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { ClaudeCodeCompactions } from "./compactions.ts";
import type { QueuedMessage } from "./queue.ts";
import {
  answerId,
  assistantContent,
  attachmentText,
  ClaudeCodeAnswers,
  messageBlocks,
  recordStopReason,
  recordUsage,
  resultContent,
  userContent,
} from "./records.ts";

/** Makes steps of the records of one lane (the main conversation or one sub-agent). */
export class ClaudeCodeSteps {
  readonly list = new StepList();
  readonly #nodes: readonly UuidNode[];
  readonly #notices: NoticeLog;
  readonly #skipped: Map<string, number>;
  /** The parent step for children of each record. A record without a step passes its parent on. */
  readonly #places = new Map<string, string | null>();
  readonly #stepOfResult = new Map<string, string>();
  readonly #answers: ClaudeCodeAnswers;
  readonly #compactions: ClaudeCodeCompactions;
  /** The model of the latest answer; before that, of the first. */
  #model: string;

  constructor(options: { nodes: readonly UuidNode[]; notices: NoticeLog; skipped: Map<string, number> }) {
    this.#nodes = options.nodes;
    this.#notices = options.notices;
    this.#skipped = options.skipped;
    this.#model = firstModel(options.nodes);
    this.#answers = new ClaudeCodeAnswers(options.nodes, (node, drafts, parent) =>
      this.#addAll(node, drafts, parent),
    );
    this.#compactions = new ClaudeCodeCompactions({ ...options, list: this.list, places: this.#places });
  }

  /** Fills the list and returns the key of the leaf. */
  build(options: {
    pinned: string | undefined;
    replacements: ReadonlyMap<string, { replacement: string; at: string | undefined }>;
    left: readonly QueuedMessage[];
  }): string | null {
    for (const node of this.#nodes) {
      this.#enter(node.line);
      this.#places.set(node.uuid, this.#place(node));
    }
    this.#answers.addAllWaiting();
    this.#enter(undefined);
    this.list.head = this.#leaf(options.pinned);
    for (const { line, content, record } of options.left)
      this.#noteLeft(line, content, isoTime(record.timestamp));
    for (const [callId, { replacement, at }] of options.replacements) {
      const target = this.#stepOfResult.get(callId);
      if (target === undefined) continue;
      this.list.add({ key: `replaced/${callId}`, at, draft: maskDraft(target, replacement) });
    }
    return this.list.head;
  }

  #enter(line: number | undefined): void {
    this.list.source = line;
    this.#notices.place = line;
  }

  #noteLeft(line: number, content: unknown, at: string | undefined): void {
    this.#notices.add("queue_left", line);
    const draft = { type: "custom", customType: "bonsai.import.queued", data: { content } } as const;
    this.list.add({ key: `queued:${line}`, at, draft });
  }

  #leaf(pinned: string | undefined): string | null {
    const pin = pinned === undefined ? undefined : this.#places.get(pinned);
    if (pin !== undefined) return pin;
    const last = lastTip(this.#nodes);
    return last === undefined ? this.list.head : this.#answers.tip(this.#places.get(last.uuid) ?? null);
  }

  /** Makes the steps of a record and returns where its children go. */
  #place(node: UuidNode): string | null {
    const { record } = node;
    const parent = this.#parentOf(node);
    switch (record.type) {
      case "assistant":
        return this.#placeAnswer(node, parent);
      case "user":
        return this.#placeUser(node, parent);
      case "attachment":
        return this.#placeAttachment(node, parent);
      case "system":
        return this.#placeSystem(node, parent);
      default:
        if (record.type !== "progress") this.#notices.add("unknown_record", node.line);
        countSkipped(this.#skipped, stringAt(record, "type") ?? "untyped");
        return parent;
    }
  }

  #parentOf(node: UuidNode): string | null {
    const parent = node.parent === null ? null : (this.#places.get(node.parent) ?? null);
    return this.#compactions.continued(parent, node.line);
  }

  #addAll(node: UuidNode, drafts: readonly EntryDraft[], parent: string | null): string | null {
    let head = parent;
    for (const draft of drafts) {
      this.list.source = node.line;
      if (isInterruption(draft)) head = this.#cancel(node, head);
      head = this.#add(node, draft, head);
    }
    return head;
  }

  #cancel(node: UuidNode, parent: string | null): string | null {
    this.#notices.add("cancelled_turns", node.line);
    const at = isoTime(node.record.timestamp);
    return this.list.markAborted({ key: node.uuid, at, parent, provider: PROVIDER, model: this.#model });
  }

  #placeAnswer(node: UuidNode, parent: string | null): string | null {
    const { record, line } = node;
    const message = fieldsAt(record, "message");
    const id = answerId(record, node.uuid);
    const content = assistantContent(messageBlocks(record), this.#notices, line);
    const model = stringAt(message, "model") ?? "unknown";
    const isOwn = model !== SYNTHETIC;
    if (isOwn) this.#model = model;
    else if (record.isApiErrorMessage !== true && content.every((block) => block.type === "text"))
      return this.#placeProgramAnswer(node, contentText(content), parent);
    const known = this.#answers.step(id);
    if (known !== undefined) {
      this.#extend(this.list.step(known)!.draft as AnswerDraft, content, record);
      this.#answers.addCalls(known, content);
      return this.#answers.holds(known, parent) ? parent : known;
    }
    const draft = assistantDraft({
      content,
      provider: PROVIDER,
      model: this.#model,
      at: isoTime(record.timestamp),
      usage: isOwn ? recordUsage(record) : undefined,
      stopReason: recordStopReason(record),
      errorMessage: record.isApiErrorMessage === true ? contentText(content) : undefined,
    });
    const step = this.#add(node, draft, this.#answers.tip(parent));
    this.#answers.add(id, step);
    this.#answers.addCalls(step, content);
    // Claude Code never shows a failed request to the model either.
    if (record.isApiErrorMessage === true) return this.#add(node, omitDraft(step), step);
    return step;
  }

  /** Turns the program's own text in the model's name, such as "No response requested.", into a note for people. */
  #placeProgramAnswer(node: UuidNode, said: string, parent: string | null): string | null {
    this.#notices.add("program_answers", node.line);
    const note = this.#add(
      node,
      { ...injectedDraft("claude-code.notice", said), display: true },
      this.#answers.tip(parent),
    );
    return this.#add(node, omitDraft(note), note);
  }

  /** Adds a block to an answer. The last record has the final counts. */
  #extend(draft: AnswerDraft, content: AssistantMessage["content"], record: UuidNode["record"]): void {
    const { message } = draft;
    message.content.push(...content);
    const usage = recordUsage(record);
    if (usage !== undefined) message.usage = laterUsage(message.usage, usage);
    message.stopReason =
      recordStopReason(record) ??
      (content.some((block) => block.type === "toolCall") ? "toolUse" : message.stopReason);
  }

  #placeUser(node: UuidNode, parent: string | null): string | null {
    const { record, line } = node;
    const summary = this.#compactions.placeSummary(node, parent);
    if (summary !== undefined) return summary;
    const blocks = messageBlocks(record);
    let head = parent;
    for (const block of blocks) if (block.type === "tool_result") head = this.#placeResult(node, block, head);
    const drafts = userDrafts({
      content: userContent(blocks, this.#notices, line),
      customType: record.isMeta === true ? "claude-code.meta" : "claude-code.injected",
      at: isoTime(record.timestamp),
      injected: record.isVisibleInTranscriptOnly === true || isFromProgram(record),
    });
    if (drafts.length === 0 && head === parent) this.#notices.add("empty_messages", line);
    const isAmong = blocks.some((block) => block.type === "tool_result");
    return drafts.length === 0 ? head : this.#answers.addAside(node, drafts, head, isAmong);
  }

  #placeResult(node: UuidNode, block: UuidNode["record"], parent: string | null): string {
    const callId = stringAt(block, "tool_use_id") ?? "";
    const answer = this.#answers.ofCall(callId);
    const isInRow = answer !== undefined && this.#answers.holds(answer, parent);
    const first = !this.#stepOfResult.has(callId);
    const draft = resultDraft({
      callId,
      toolName: "unknown",
      content: resultContent(block, this.#notices, node.line),
      isError: block.is_error === true,
      at: isoTime(node.record.timestamp),
    });
    // A second result of the same call stands on a branch of its own.
    const step = this.#add(node, draft, isInRow && first ? this.#answers.endOf(answer) : parent);
    if (first) this.#stepOfResult.set(callId, step);
    if (first && answer !== undefined) this.#answers.addResult(answer, isInRow ? step : undefined);
    return step;
  }

  /** Queued text is the user's; all other attachments are the program's. */
  #placeAttachment(node: UuidNode, parent: string | null): string | null {
    const attachment = fieldsAt(node.record, "attachment") ?? {};
    if (attachment.type === "queued_command") return this.#placeQueued(node, attachment, parent);
    const content = attachmentText(attachment);
    if (content === undefined) {
      countSkipped(this.#skipped, `attachment/${stringAt(attachment, "type") ?? "untyped"}`);
      return parent;
    }
    return this.#answers.addAside(node, [injectedDraft("claude-code.attachment", content)], parent);
  }

  #placeQueued(node: UuidNode, attachment: Fields, parent: string | null): string | null {
    const { prompt, commandMode = "prompt" } = attachment;
    const isTyped = commandMode === "prompt" || commandMode === "bash";
    const blocks =
      typeof prompt === "string" ? [{ type: "text", text: prompt }] : Array.isArray(prompt) ? prompt : [];
    const drafts = userDrafts({
      content: userContent(blocks.filter(isRecord), this.#notices, node.line),
      customType: "claude-code.injected",
      at: isoTime(node.record.timestamp),
      injected: !isTyped || isFromProgram(attachment),
    });
    return drafts.length === 0 ? parent : this.#answers.addAside(node, drafts, parent);
  }

  #placeSystem(node: UuidNode, parent: string | null): string | null {
    const { record } = node;
    const subtype = stringAt(record, "subtype") ?? "untyped";
    if (isBoundary(record)) return this.#compactions.placeBoundary(node, this.#answers.tip(parent));
    if (subtype === "microcompact_boundary") return this.#placeMasks(node, parent);
    if (subtype === "snip_boundary") return this.#placeSnips(node, parent);
    const content = stringAt(record, "content");
    if (subtype === "local_command" && content !== undefined) {
      return this.#answers.addAside(node, [injectedDraft("claude-code.injected", content)], parent);
    }
    countSkipped(this.#skipped, `system/${subtype}`);
    return parent;
  }

  #placeMasks(node: UuidNode, parent: string | null): string | null {
    const ids = stringsAt(fieldsAt(node.record, "microcompactMetadata"), "compactedToolIds");
    const targets = ids.flatMap((id) => this.#stepOfResult.get(id) ?? []);
    return this.#answers.addAside(
      node,
      targets.map((target) => maskDraft(target)),
      parent,
    );
  }

  #placeSnips(node: UuidNode, parent: string | null): string | null {
    const uuids = stringsAt(fieldsAt(node.record, "snipMetadata"), "removedUuids");
    const targets = new Set(uuids.flatMap((uuid) => this.#places.get(uuid) ?? []));
    return this.#answers.addAside(node, [...targets].map(omitDraft), parent);
  }

  #add(node: UuidNode, draft: EntryDraft, parent: string | null): string {
    return this.list.add({ key: node.uuid, at: isoTime(node.record.timestamp), draft, parent }).key;
  }
}

/** True for a message that the record attributes to a program. */
function isFromProgram(record: Fields): boolean {
  const origin = stringAt(fieldsAt(record, "origin"), "kind");
  if (record.isMeta === true || record.isSynthetic === true) return true;
  return origin !== undefined && origin !== "human" && origin !== "channel";
}

const PROVIDER = "anthropic";

/** The model that the program names for answers that it wrote itself. */
const SYNTHETIC = "<synthetic>";

function firstModel(nodes: readonly UuidNode[]): string {
  for (const { record } of nodes) {
    const model = record.type === "assistant" ? stringAt(fieldsAt(record, "message"), "model") : undefined;
    if (model !== undefined && model !== SYNTHETIC) return model;
  }
  return "unknown";
}

function isInterruption(draft: EntryDraft): boolean {
  return (
    draft.type === "custom_message" && contentText(draft.content).startsWith("[Request interrupted by user")
  );
}

type AnswerDraft = EntryDraft & { type: "message"; message: AssistantMessage };

function isBoundary(record: UuidNode["record"]): boolean {
  return record.type === "system" && record.subtype === "compact_boundary";
}

function isConversation(record: UuidNode["record"]): boolean {
  return record.type === "user" || record.type === "assistant" || isBoundary(record);
}

/** The end of conversation that was written last. Expects parents before their children. */
function lastTip(nodes: readonly UuidNode[]): UuidNode | undefined {
  const goesOn = new Set<string | null>();
  let tip: UuidNode | undefined;
  for (const node of nodes.toReversed()) {
    const isTalk = isConversation(node.record);
    if (isTalk && !goesOn.has(node.uuid) && (tip === undefined || node.line > tip.line)) tip = node;
    if (isTalk || goesOn.has(node.uuid)) goesOn.add(node.parent);
  }
  return tip;
}

/** The later counts of an answer whose records repeat them. Output only grows. */
function laterUsage(before: Usage, after: Usage): Usage {
  return after.output >= before.output ? after : before;
}
