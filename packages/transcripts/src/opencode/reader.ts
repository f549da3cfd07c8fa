import { contentText, type StopReason, type UserContent } from "@bonsai-agent/messages";
import { userDrafts } from "../import/injected.ts";
import {
  type Fields,
  fieldsAt,
  isoTime,
  nameOf,
  numberAt,
  stringAt,
  timeAt,
  typeOf,
} from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  answerDraft,
  maskDraft,
  omitDraft,
  resultDraft,
  StepList,
  type Transcript,
  text,
} from "../import/step.ts";
import { answerOf, fileContent, partCallId, partResult, requestsOf, tokensUsage } from "./parts.ts";
import { type OpenCodeMessage, type OpenCodeSession, parentId } from "./storage.ts";

/** Reads a session of OpenCode, from its storage folder or from `opencode export`. */
export function readOpenCode(session: OpenCodeSession, notices: NoticeLog): Transcript {
  return new OpenCodeReader(session, notices).read();
}

interface Pruned {
  target: string;
  atMs: number;
}

class OpenCodeReader {
  readonly #list: StepList;
  readonly #session: OpenCodeSession;
  readonly #notices: NoticeLog;
  /** By message id: its first step, for the kept part of a compaction. */
  readonly #firstSteps = new Map<string, string>();
  /** By the id of the user message with a compaction part: its finished summary, if any. */
  readonly #summaries: ReadonlyMap<string, OpenCodeMessage | undefined>;
  /** Tool results that are pruned later. */
  #pruned: Pruned[] = [];

  constructor(session: OpenCodeSession, notices: NoticeLog) {
    this.#list = new StepList(notices);
    this.#session = session;
    this.#notices = notices;
    this.#summaries = summariesByRequest(session.messages);
  }

  read(): Transcript {
    const { info, childIds } = this.#session;
    const beforeRevert = this.#readAll(stringAt(info, "revert", "messageID"));
    this.#notices.place = undefined;
    this.#maskUntil(Number.POSITIVE_INFINITY);
    const parent = parentId(info);
    if (parent !== undefined) this.#notices.add("sub_agent", parent);
    for (const child of childIds) this.#notices.add("sub_agents_apart", child);
    return {
      id: stringAt(info, "id") ?? "unknown",
      cwd: stringAt(info, "directory") ?? this.#pathOfAnswers(),
      name: stringAt(info, "title"),
      version: stringAt(info, "version"),
      list: this.#list,
      leaf: beforeRevert === undefined ? this.#list.head : beforeRevert,
    };
  }

  /** Old sessions have no folder of their own; their answers name it. */
  #pathOfAnswers(): string | undefined {
    const paths = this.#session.messages.map(({ info }) => stringAt(info, "path", "cwd"));
    return paths.find((path) => path !== undefined);
  }

  /** Returns the step before the reverted part, if any; the reverted part stays as a branch. */
  #readAll(revertedId: string | undefined): string | null | undefined {
    let beforeRevert: string | null | undefined;
    for (const message of this.#session.messages) {
      const { info } = message;
      this.#notices.place = stringAt(info, "id");
      if (info.id === revertedId) {
        beforeRevert = this.#list.head;
        this.#notices.add("rewound");
      }
      this.#maskUntil(numberAt(info, "time", "created"));
      const before = this.#list.steps.length;
      if (info.role === "user") this.#readUser(message);
      else if (info.role === "assistant") this.#readAssistant(message);
      else {
        this.#notices.add("unknown_record");
        this.#list.skip(`message/${stringAt(info, "role") ?? "untyped"}`);
      }
      const first = this.#list.steps[before];
      if (first !== undefined) this.#firstSteps.set(nameOf(info.id), first.key);
    }
    return beforeRevert;
  }

  #readUser({ info, parts }: OpenCodeMessage): void {
    const compaction = parts.find((part) => part.type === "compaction");
    if (compaction !== undefined) {
      const summary = this.#summaries.get(nameOf(info.id));
      const tail = stringAt(compaction, "tail_start_id");
      if (summary === undefined) this.#notices.add("failed_compaction");
      else this.#addCompaction(summary, { tail, details: { auto: compaction.auto === true } });
      return;
    }
    const own: UserContent[] = [];
    const synthetic: UserContent[] = [];
    for (const part of parts) {
      // The text of attached text files is in synthetic parts beside them.
      const isTextFile = part.mime === "text/plain" || part.mime === "application/x-directory";
      if (part.type === "text" && part.ignored !== true)
        (part.synthetic === true ? synthetic : own).push(text(stringAt(part, "text") ?? ""));
      else if (part.type === "file" && !isTextFile) own.push(fileContent(part, this.#notices));
      else if (part.type === "subtask") synthetic.push(text(subtaskText(part)));
      else this.#list.skip(`part/${typeOf(part)}`);
    }
    if (own.length + synthetic.length === 0) this.#notices.add("empty_messages");
    const customType = "opencode.synthetic";
    for (const draft of [...userDrafts(own, customType), ...userDrafts(synthetic, customType, true)])
      this.#list.add(draft, placeOf(info));
  }

  #readAssistant(message: OpenCodeMessage): void {
    const { info, parts } = message;
    if (info.summary === true) {
      this.#readSummary(message);
      return;
    }
    const stopReason = stopReasonOf(info);
    const requests = requestsOf(parts);
    // A request that ended before its first part was sent too.
    if (requests.length === 0 && stopReason !== undefined) requests.push({ parts: [], finish: undefined });
    const isCounted = requests.some((request) => request.finish !== undefined);
    if (stopReason === "aborted") this.#notices.add("cancelled_turns");
    const keys: string[] = [];
    for (const [index, request] of requests.entries()) {
      const isLast = index === requests.length - 1;
      const usage = tokensUsage(request.finish) ?? (isLast && !isCounted ? tokensUsage(info) : undefined);
      const draft = answerDraft({
        content: answerOf(request.parts),
        provider: stringAt(info, "providerID") ?? "unknown",
        model: stringAt(info, "modelID") ?? "unknown",
        usage,
        stopReason: isLast ? stopReason : undefined,
        errorMessage: isLast ? errorMessage(info) : undefined,
      });
      keys.push(this.#list.add(draft, placeOf(info)), ...this.#addResults(request.parts, info));
    }
    for (const part of parts) if (isSilent(part)) this.#list.skip(`part/${part.type}`);
    if (!isHidden(message)) return;
    for (const key of keys) this.#list.add(omitDraft(key), { ...placeOf(info), key: `${key}/hidden` });
  }

  #addResults(parts: readonly Fields[], info: Fields): string[] {
    return parts.flatMap((part) => {
      if (part.type !== "tool") return [];
      const callId = partCallId(part);
      const at = timeAt(part, "state", "time", "end") ?? timeAt(info, "time", "created");
      const draft = resultDraft(callId, partResult(part, this.#notices), stringAt(part, "tool"));
      const target = this.#list.add(draft, { key: stringAt(part, "id") ?? callId, at });
      const atMs = numberAt(part, "state", "time", "compacted");
      if (atMs > 0) this.#pruned.push({ target, atMs });
      return [target];
    });
  }

  /** Masks results where they were pruned, so that earlier places in the tree still show them. */
  #maskUntil(timeMs: number): void {
    const due = this.#pruned.filter((pruned) => pruned.atMs <= timeMs).sort((a, b) => a.atMs - b.atMs);
    this.#pruned = this.#pruned.filter((pruned) => pruned.atMs > timeMs);
    for (const { target, atMs } of due)
      this.#list.add(maskDraft(target), { key: `${target}/pruned`, at: isoTime(atMs) });
  }

  /** Reads a summary without a compaction part, which older versions wrote. */
  #readSummary(message: OpenCodeMessage): void {
    if (this.#summaries.has(nameOf(message.info.parentID))) return;
    if (message.info.error === undefined) this.#addCompaction(message, {});
    else this.#notices.add("failed_compaction");
  }

  #addCompaction(
    { info, parts }: OpenCodeMessage,
    { tail = "", details }: { tail?: string | undefined; details?: object },
  ): void {
    const usage = tokensUsage(info);
    const draft = {
      type: "compaction",
      summary: contentText(parts.filter((part) => part.type === "text")),
      firstKeptEntryId: this.#firstSteps.get(tail) ?? "",
      tokensBefore: 0,
      ...(usage === undefined ? {} : { usage }),
      ...(details === undefined ? {} : { details }),
    } as const;
    this.#list.add(draft, placeOf(info));
  }
}

/** The finished summary of each user message with a compaction part, if any. */
function summariesByRequest(messages: readonly OpenCodeMessage[]): Map<string, OpenCodeMessage | undefined> {
  const requests = messages.filter(({ parts }) => parts.some((part) => part.type === "compaction"));
  const found = new Map<string, OpenCodeMessage | undefined>(
    requests.map(({ info }) => [nameOf(info.id), undefined]),
  );
  for (const message of messages) {
    const { summary, finish, error, parentID } = message.info;
    const isFinished = summary === true && finish !== undefined && error === undefined;
    if (isFinished && found.has(nameOf(parentID))) found.set(nameOf(parentID), message);
  }
  return found;
}

/** The place of a message's steps. */
function placeOf(info: Fields) {
  return { key: nameOf(info.id), at: timeAt(info, "time", "created") };
}

function subtaskText(part: Fields): string {
  return `[Sub-task for agent ${stringAt(part, "agent") ?? "unknown"}] ${stringAt(part, "prompt") ?? ""}`;
}

function stopReasonOf(info: Fields): StopReason | undefined {
  const error = fieldsAt(info, "error");
  if (error !== undefined) return error.name === "MessageAbortedError" ? "aborted" : "error";
  return info.finish === "length" ? "length" : undefined;
}

function errorMessage(info: Fields): string | undefined {
  const error = fieldsAt(info, "error");
  return stringAt(error, "data", "message") ?? stringAt(error, "message") ?? stringAt(error, "name");
}

/** True for a failed request, which never reaches the model again, and for an aborted one that had done nothing. */
function isHidden({ info, parts }: OpenCodeMessage): boolean {
  const reason = stopReasonOf(info);
  const hasDone = parts.some((part) => part.type !== "step-start" && part.type !== "reasoning");
  return reason === "error" || (reason === "aborted" && !hasDone);
}

/** True for parts with state of the program. */
function isSilent(part: Fields): boolean {
  return !["text", "reasoning", "tool", "step-start", "step-finish"].includes(nameOf(part.type));
}
