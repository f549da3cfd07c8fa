import { type AssistantContent, type AssistantMessage, contentText } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { userDrafts } from "../import/injected.ts";
import { type Fields, fieldsAt, stringAt, stringsAt, timeAt, typeOf } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { answerDraft, injectedDraft, maskDraft, omitDraft, resultDraft, StepList } from "../import/step.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { ClaudeCodeAnswers } from "./answers.ts";
import { ClaudeCodeCompactions, placeOf } from "./compactions.ts";
import type { QueuedMessage } from "./queue.ts";
import {
  answerId,
  assistantContent,
  attachmentText,
  blocksOf,
  hasResults,
  messageBlocks,
  recordStopReason,
  recordUsage,
  userContent,
} from "./records.ts";

/** Makes steps of the records of one lane (the main conversation or one sub-agent). */
export class ClaudeCodeSteps {
  readonly list: StepList;
  readonly #nodes: readonly UuidNode[];
  readonly #notices: NoticeLog;
  /** The parent step for children of each record. A record without a step passes its parent on. */
  readonly #places = new Map<string, string | null>();
  readonly #stepOfResult = new Map<string, string>();
  readonly #answers: ClaudeCodeAnswers;
  readonly #compactions: ClaudeCodeCompactions;
  /** The model of the latest answer; before that, of the first. */
  #model: string;

  constructor(nodes: readonly UuidNode[], notices: NoticeLog) {
    this.list = new StepList(notices);
    this.#nodes = nodes;
    this.#notices = notices;
    this.#model = firstModel(nodes);
    this.#answers = new ClaudeCodeAnswers(nodes, (node, drafts, parent) =>
      this.#addAll(node, drafts, parent),
    );
    this.#compactions = new ClaudeCodeCompactions(nodes, this.list, this.#places);
  }

  /** Fills the list and returns the key of the leaf. */
  build(options: {
    pinned: string | undefined;
    replacements: ReadonlyMap<string, { replacement: string; at: string | undefined }>;
    left: readonly QueuedMessage[];
  }): string | null {
    for (const node of this.#nodes) {
      this.#notices.place = node.line;
      this.#places.set(node.uuid, this.#place(node));
    }
    this.#answers.addAllWaiting();
    this.#notices.place = undefined;
    this.list.head = this.#leaf(options.pinned);
    for (const { line, content, record } of options.left) {
      this.#notices.add("queue_left", line);
      const draft = { type: "custom", customType: "bonsai.import.queued", data: { content } } as const;
      this.list.add(draft, { key: `queued:${line}`, at: timeAt(record, "timestamp") });
    }
    for (const [callId, { replacement, at }] of options.replacements) {
      const target = this.#stepOfResult.get(callId);
      if (target !== undefined)
        this.list.add(maskDraft(target, replacement), { key: `replaced/${callId}`, at });
    }
    return this.list.head;
  }

  #leaf(pinned: string | undefined): string | null {
    const pin = pinned === undefined ? undefined : this.#places.get(pinned);
    if (pin !== undefined) return pin;
    const last = lastTip(this.#nodes);
    return last === undefined ? this.list.head : this.#answers.tip(this.#places.get(last.uuid) ?? null);
  }

  /** Makes the steps of a record and returns the parent of its children. */
  #place(node: UuidNode): string | null {
    const { record, line } = node;
    const parent = this.#compactions.continued(this.#places.get(node.parent ?? "") ?? null, line);
    if (record.type === "assistant") return this.#placeAnswer(node, parent);
    if (record.type === "user") return this.#placeUser(node, parent);
    if (record.type === "attachment") return this.#placeAttachment(node, parent);
    if (record.type === "system") return this.#placeSystem(node, parent);
    if (record.type !== "progress") this.#notices.add("unknown_record", line);
    this.list.skip(typeOf(record));
    return parent;
  }

  #addAll(node: UuidNode, drafts: readonly EntryDraft[], parent: string | null): string | null {
    let head = parent;
    for (const draft of drafts) {
      if (isInterruption(draft)) {
        this.#notices.add("cancelled_turns", node.line);
        head = this.list.markAborted(placeOf(node, head), { provider: PROVIDER, model: this.#model });
      }
      head = this.list.add(draft, placeOf(node, head));
    }
    return head;
  }

  #placeAnswer(node: UuidNode, parent: string | null): string | null {
    const { record, line } = node;
    const id = answerId(record, node.uuid);
    const isFailed = record.isApiErrorMessage === true;
    const content = assistantContent(record, this.#notices, line);
    const model = stringAt(record, "message", "model") ?? "unknown";
    if (model !== SYNTHETIC) this.#model = model;
    else if (!isFailed && content.every((block) => block.type === "text"))
      return this.#placeProgramAnswer(node, contentText(content), parent);
    const known = this.#answers.get(id);
    if (known !== undefined) {
      extend((this.list.step(known.step)!.draft as AnswerDraft).message, content, record);
      this.#answers.addCalls(known, content);
      return this.#answers.ofStep(parent) === known ? parent : known.step;
    }
    const draft = answerDraft({
      content,
      provider: PROVIDER,
      model: this.#model,
      usage: model === SYNTHETIC ? undefined : recordUsage(record),
      stopReason: recordStopReason(record),
      errorMessage: isFailed ? contentText(content) : undefined,
    });
    const step = this.list.add(draft, placeOf(node, this.#answers.tip(parent)));
    this.#answers.addCalls(this.#answers.add(id, step), content);
    // Claude Code never shows a failed request to the model either.
    return isFailed ? this.list.add(omitDraft(step), placeOf(node, step)) : step;
  }

  /** Turns the program's own text in the model's name, such as "No response requested.", into a note for people. */
  #placeProgramAnswer(node: UuidNode, said: string, parent: string | null): string | null {
    this.#notices.add("program_answers", node.line);
    const draft = { ...injectedDraft("claude-code.notice", said), display: true };
    const note = this.list.add(draft, placeOf(node, this.#answers.tip(parent)));
    return this.list.add(omitDraft(note), placeOf(node, note));
  }

  #placeUser(node: UuidNode, parent: string | null): string | null {
    const { record, line } = node;
    const summary = this.#compactions.placeSummary(node, parent);
    if (summary !== undefined) return summary;
    const blocks = messageBlocks(record);
    let head = parent;
    for (const block of blocks) if (block.type === "tool_result") head = this.#placeResult(node, block, head);
    const drafts = userDrafts(
      userContent(blocks, this.#notices, line),
      record.isMeta === true ? "claude-code.meta" : "claude-code.injected",
      record.isVisibleInTranscriptOnly === true || isFromProgram(record),
    );
    if (drafts.length > 0) return this.#answers.addAside(node, drafts, head, hasResults(record));
    if (head === parent) this.#notices.add("empty_messages", line);
    return head;
  }

  #placeResult(node: UuidNode, block: Fields, parent: string | null): string {
    const callId = stringAt(block, "tool_use_id") ?? "";
    const answer = this.#answers.ofCall(callId);
    const isInRow = answer !== undefined && this.#answers.ofStep(parent) === answer;
    const isFirst = !this.#stepOfResult.has(callId);
    const content = userContent(blocksOf(block.content), this.#notices, node.line);
    const draft = resultDraft(callId, { content, isError: block.is_error === true });
    // A second result of the same call is on a branch of its own.
    const step = this.list.add(draft, placeOf(node, isInRow && isFirst ? answer.end : parent));
    if (isFirst) this.#stepOfResult.set(callId, step);
    if (isFirst && answer !== undefined) this.#answers.addResult(answer, isInRow ? step : undefined);
    return step;
  }

  /** Queued text is the user's; all other attachments are the program's. */
  #placeAttachment(node: UuidNode, parent: string | null): string | null {
    const attachment = fieldsAt(node.record, "attachment") ?? {};
    if (attachment.type === "queued_command") return this.#placeQueued(node, attachment, parent);
    const content = attachmentText(attachment);
    if (content !== undefined)
      return this.#answers.addAside(node, [injectedDraft("claude-code.attachment", content)], parent);
    this.list.skip(`attachment/${typeOf(attachment)}`);
    return parent;
  }

  #placeQueued(node: UuidNode, attachment: Fields, parent: string | null): string | null {
    const { prompt, commandMode = "prompt" } = attachment;
    const isTyped = commandMode === "prompt" || commandMode === "bash";
    const content = userContent(blocksOf(prompt), this.#notices, node.line);
    const drafts = userDrafts(content, "claude-code.injected", !isTyped || isFromProgram(attachment));
    return drafts.length === 0 ? parent : this.#answers.addAside(node, drafts, parent);
  }

  #placeSystem(node: UuidNode, parent: string | null): string | null {
    const { record } = node;
    const subtype = stringAt(record, "subtype") ?? "untyped";
    const content = stringAt(record, "content");
    if (isBoundary(record)) return this.#compactions.placeBoundary(node, this.#answers.tip(parent));
    if (subtype === "microcompact_boundary") {
      const ids = stringsAt(record, "microcompactMetadata", "compactedToolIds");
      const masks = ids.flatMap((id) => this.#stepOfResult.get(id) ?? []).map((step) => maskDraft(step));
      return this.#answers.addAside(node, masks, parent);
    }
    if (subtype === "snip_boundary") {
      const uuids = stringsAt(record, "snipMetadata", "removedUuids");
      const targets = new Set(uuids.flatMap((uuid) => this.#places.get(uuid) ?? []));
      return this.#answers.addAside(node, [...targets].map(omitDraft), parent);
    }
    if (subtype === "local_command" && content !== undefined)
      return this.#answers.addAside(node, [injectedDraft("claude-code.injected", content)], parent);
    this.list.skip(`system/${subtype}`);
    return parent;
  }
}

type AnswerDraft = EntryDraft & { type: "message"; message: AssistantMessage };

/** Adds a block to an answer. The last record has the final counts. */
function extend(message: AssistantMessage, content: readonly AssistantContent[], record: Fields): void {
  message.content.push(...content);
  const usage = recordUsage(record);
  if (usage !== undefined && usage.output >= message.usage.output) message.usage = usage;
  const hasCalls = content.some((block) => block.type === "toolCall");
  message.stopReason = recordStopReason(record) ?? (hasCalls ? "toolUse" : message.stopReason);
}

/** True for a message that the record attributes to a program. */
function isFromProgram(record: Fields): boolean {
  const origin = stringAt(record, "origin", "kind") ?? "human";
  return record.isMeta === true || record.isSynthetic === true || !["human", "channel"].includes(origin);
}

const PROVIDER = "anthropic";

/** The model that the program names for answers that it wrote itself. */
const SYNTHETIC = "<synthetic>";

function firstModel(nodes: readonly UuidNode[]): string {
  const models = nodes.map(({ record }) =>
    record.type === "assistant" ? stringAt(record, "message", "model") : undefined,
  );
  return models.find((model) => model !== undefined && model !== SYNTHETIC) ?? "unknown";
}

function isInterruption(draft: EntryDraft): boolean {
  return (
    draft.type === "custom_message" && contentText(draft.content).startsWith("[Request interrupted by user")
  );
}

function isBoundary(record: Fields): boolean {
  return record.type === "system" && record.subtype === "compact_boundary";
}

/** The end of conversation that was written last. Expects parents before their children. */
function lastTip(nodes: readonly UuidNode[]): UuidNode | undefined {
  const continued = new Set<string | null>();
  let tip: UuidNode | undefined;
  for (const node of nodes.toReversed()) {
    const { type } = node.record;
    const isTalk = type === "user" || type === "assistant" || isBoundary(node.record);
    if (isTalk && !continued.has(node.uuid) && (tip === undefined || node.line > tip.line)) tip = node;
    if (isTalk || continued.has(node.uuid)) continued.add(node.parent);
  }
  return tip;
}
