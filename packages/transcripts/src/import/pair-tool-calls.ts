import { callsIn, contentText, jsonText, type ToolResultMessage } from "@bonsai-agent/messages";
import type { NoticeLog, SourcePlace } from "./notices.ts";
import {
  flatContent,
  injectedDraft,
  MISSING_RESULT,
  maskDraft,
  omitDraft,
  resultDraft,
  type Step,
  text,
} from "./step.ts";

interface OpenCall {
  id: string;
  name: string;
  /** Key of the step that calls. */
  answer: string;
  source: SourcePlace | undefined;
}

/** The calls without a result at a step. */
interface OpenCalls {
  /** Calls of the latest answer, if no message follows it. */
  latest: readonly OpenCall[];
  earlier: readonly OpenCall[];
}

const NO_CALLS: OpenCalls = { latest: [], earlier: [] };

/**
 * Finds the call of each result on its branch. Calls that no result answers get placeholders, and a result without a call
 * becomes a note. A result that comes late stays in its place: the history is repaired whenever it is sent. Expects
 * parents before their children.
 */
export function pairToolCalls(
  steps: readonly Step[],
  leaf: string | null,
  notices: NoticeLog,
): { steps: Step[]; leaf: string | null } {
  const openAt = new Map<string | null, OpenCalls>([[null, NO_CALLS]]);
  /** The call of each result, by the result's key. */
  const callAt = new Map<string, OpenCall>();
  for (const step of steps) {
    const open = openAt.get(step.parent) ?? NO_CALLS;
    const call = callOf(toolResult(step), open);
    if (call !== undefined) callAt.set(step.key, call);
    openAt.set(step.key, openAfter(step, call, open));
  }
  const answered = new Set(callAt.values());
  const paired: Step[] = [];
  /** Adds placeholders for calls below `parent`. Returns the key of the last. */
  const close = (calls: readonly OpenCall[], parent: string | null, place: string): string | null => {
    let last = parent;
    for (const call of calls) {
      notices.add("result_missing", call.source);
      const placeholder = missingResult(call, last, place);
      callAt.set(placeholder.key, call);
      paired.push(placeholder);
      last = placeholder.key;
    }
    return last;
  };
  for (const step of steps) {
    const call = callAt.get(step.key);
    if (call !== undefined) {
      paired.push(named(step, call));
      continue;
    }
    const open = isMessage(step) ? (openAt.get(step.parent) ?? NO_CALLS).latest : [];
    const unanswered = open.filter((each) => !answered.has(each));
    const parent = close(unanswered, step.parent, step.key);
    paired.push({ ...withoutRepeats(noteOfOrphan(step, notices)), parent });
  }
  const parents = new Set(steps.map(({ parent }) => parent));
  let end = leaf;
  for (const { key } of steps) {
    if (parents.has(key)) continue;
    const last = close(openAt.get(key)!.latest, key, key);
    if (leaf === key) end = last;
  }
  const answers = new Map([...callAt].map(([key, { answer }]) => [key, answer]));
  return { steps: wholeEdits(paired, answers), leaf: end };
}

function callOf(result: ToolResultMessage | undefined, { latest, earlier }: OpenCalls): OpenCall | undefined {
  const isCalled = ({ id }: OpenCall) => id === result?.toolCallId;
  return latest.find(isCalled) ?? earlier.findLast(isCalled);
}

function openAfter(step: Step, answered: OpenCall | undefined, open: OpenCalls): OpenCalls {
  if (answered !== undefined) {
    const isOpen = (call: OpenCall) => call !== answered;
    return { latest: open.latest.filter(isOpen), earlier: open.earlier.filter(isOpen) };
  }
  if (!isMessage(step)) return open;
  const earlier = open.latest.length === 0 ? open.earlier : [...open.earlier, ...open.latest];
  return { latest: callsOf(step), earlier };
}

function missingResult({ id, name }: OpenCall, parent: string | null, place: string): Step {
  const draft = resultDraft(id, { content: [text(MISSING_RESULT)], isError: true }, name);
  return { key: `${parent}/${id}/missing/${place}`, parent, at: undefined, draft };
}

/** A result without a call as a note; other steps as they are. */
function noteOfOrphan(step: Step, notices: NoticeLog): Step {
  const result = toolResult(step);
  if (result === undefined) return step;
  notices.add("call_missing", step.source);
  const note = `[Result of a call that is not in the transcript: ${result.toolName}]\n${contentText(result.content)}`;
  const images = result.content.filter((block) => block.type === "image");
  return { ...step, draft: injectedDraft("bonsai.import.result", flatContent([text(note), ...images])) };
}

/**
 * An answer and its results are left out together or not at all, and a compaction that keeps a result keeps its answer.
 * Else an edit would separate a call from its result.
 */
function wholeEdits(paired: readonly Step[], answers: ReadonlyMap<string, string>): Step[] {
  const omitted = new Set(paired.map(omittedKey));
  const results = Map.groupBy([...answers], ([, answer]) => answer);
  const isWhole = (answer: string) =>
    omitted.has(answer) && (results.get(answer) ?? []).every(([result]) => omitted.has(result));
  return paired.map((step) => {
    const { draft } = step;
    if (draft.type === "compaction") {
      const answer = answers.get(draft.firstKeptEntryId);
      return answer === undefined ? step : { ...step, draft: { ...draft, firstKeptEntryId: answer } };
    }
    if (draft.type !== "context_edit") return step;
    const { targetId, replacement } = draft;
    const answer = answers.get(targetId) ?? (results.has(targetId) ? targetId : undefined);
    if (answer === undefined) return step;
    if (isWhole(answer)) return { ...step, draft: omitDraft(targetId) };
    if (replacement !== null) return step;
    return { ...step, draft: targetId === answer ? REFUSED_EDIT : maskDraft(targetId) };
  });
}

/** Replaces an edit that would have left out an answer without its results. */
const REFUSED_EDIT = { type: "custom", customType: "bonsai.import.edit" } as const;

function omittedKey({ draft }: Step): string | undefined {
  return draft.type === "context_edit" && draft.replacement === null ? draft.targetId : undefined;
}

function toolResult(step: Step): ToolResultMessage | undefined {
  if (step.draft.type !== "message" || step.draft.message.role !== "toolResult") return undefined;
  return step.draft.message;
}

/** True for a step that the model sees as a message. */
function isMessage(step: Step): boolean {
  return ["message", "compaction", "branch_summary", "custom_message"].includes(step.draft.type);
}

/** One call for each id: a call that its transcript repeats has one result. */
function callsOf(step: Step): OpenCall[] {
  if (step.draft.type !== "message") return [];
  const calls = new Map(callsIn(step.draft.message).map(({ id, name }) => [id, name]));
  return [...calls].map(([id, name]) => ({ id, name, answer: step.key, source: step.source }));
}

/** An answer without repeated calls. */
function withoutRepeats(step: Step): Step {
  if (step.draft.type !== "message" || step.draft.message.role !== "assistant") return step;
  const { message } = step.draft;
  const seen = new Set<string>();
  const content = message.content.filter((block) => {
    if (block.type !== "toolCall") return true;
    const call = jsonText([block.id, block.name, block.arguments]);
    const isNew = !seen.has(call);
    seen.add(call);
    return isNew;
  });
  if (content.length === message.content.length) return step;
  return { ...step, draft: { type: "message", message: { ...message, content } } };
}

/** A result with its tool's name, which only the call has in most transcripts. */
function named(step: Step, { name }: OpenCall): Step {
  return { ...step, draft: { type: "message", message: { ...toolResult(step)!, toolName: name } } };
}
