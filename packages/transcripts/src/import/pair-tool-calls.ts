import { contentText, jsonText, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import type { NoticeLog, SourcePlace } from "./notices.ts";
import { MISSING_RESULT, maskDraft, omitDraft, resultDraft, type Step, text } from "./step.ts";

interface OpenCall {
  id: string;
  name: string;
  /** Key of the step that calls. */
  answer: string;
  source: SourcePlace | undefined;
}

/**
 * Brings every tool call together with its result, on every branch: a result that comes late is moved
 * up, a missing one gets a placeholder, a result without a call becomes a note. Providers refuse a
 * history in which a call and its result are apart. Returns steps in tree order, parents first.
 */
export function pairToolCalls(options: { steps: readonly Step[]; leaf: string | null; notices: NoticeLog }): {
  steps: Step[];
  leaf: string | null;
} {
  return new Pairing(options.steps, options.leaf, options.notices).run();
}

class Pairing {
  readonly #children = new Map<string | null, Step[]>();
  readonly #parents = new Map<string, string | null>();
  readonly #results = new Map<string, Step[]>();
  readonly #moved = new Set<string>();
  /** By the key of a result: that of its answer. */
  readonly #answers = new Map<string, string>();
  readonly #paired: Step[] = [];
  readonly #notices: NoticeLog;
  #leaf: string | null;

  constructor(steps: readonly Step[], leaf: string | null, notices: NoticeLog) {
    this.#leaf = leaf;
    this.#notices = notices;
    for (const step of steps) {
      push(this.#children, step.parent, step);
      this.#parents.set(step.key, step.parent);
      const result = toolResult(step);
      if (result !== undefined) push(this.#results, result.toolCallId, step);
    }
  }

  run(): { steps: Step[]; leaf: string | null } {
    const stack = this.#childrenOf(null, null, []);
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { parent, open } = this.#place(next);
      const children = this.#childrenOf(next.step.key, parent, open);
      if (children.length === 0) this.#closeEnd(next.step.key, parent, open);
      for (const child of children) stack.push(child);
    }
    this.#closeLeaf();
    return { steps: this.#wholeEdits(), leaf: this.#leaf };
  }

  /**
   * An answer and its results are left out together or not at all, and what keeps a result keeps its answer: else
   * an edit that lost its companion would part a call from its result.
   */
  #wholeEdits(): Step[] {
    const omitted = new Set(this.#paired.map(omittedKey));
    const results = Map.groupBy([...this.#answers], ([, answer]) => answer);
    const isWhole = (answer: string) =>
      omitted.has(answer) && (results.get(answer) ?? []).every(([result]) => omitted.has(result));
    return this.#paired.map((step) => {
      const { draft } = step;
      if (draft.type === "compaction") {
        const answer = this.#answers.get(draft.firstKeptEntryId);
        return answer === undefined ? step : { ...step, draft: { ...draft, firstKeptEntryId: answer } };
      }
      if (draft.type !== "context_edit") return step;
      const { targetId, replacement } = draft;
      const answer = this.#answers.get(targetId) ?? (results.has(targetId) ? targetId : undefined);
      if (answer === undefined) return step;
      if (isWhole(answer)) return { ...step, draft: omitDraft(targetId) };
      if (replacement !== null) return step;
      return { ...step, draft: targetId === answer ? PARTED_EDIT : maskDraft(targetId) };
    });
  }

  /** A leaf between calls and their results is moved behind the results: nobody can go on from where it was. */
  #closeLeaf(): void {
    const open = this.#openAtLeaf();
    if (open.length === 0) return;
    const children = new Map<string | null, Step[]>();
    for (const step of this.#paired) push(children, step.parent, step);
    for (let next: Step | undefined; open.length > 0; this.#leaf = next.key) {
      next = children
        .get(this.#leaf)
        ?.find((step) => open.some(({ id }) => id === toolResult(step)?.toolCallId));
      if (next === undefined) break;
      const { toolCallId } = toolResult(next)!;
      open.splice(
        open.findIndex(({ id }) => id === toolCallId),
        1,
      );
    }
    const at = this.#leaf;
    for (const call of open) this.#leaf = this.#emitMissing(call, `${at}/leaf`, undefined, this.#leaf);
  }

  #openAtLeaf(): OpenCall[] {
    const byKey = new Map(this.#paired.map((step) => [step.key, step]));
    const answered = new Set<string>();
    for (let step = byKey.get(this.#leaf ?? ""); step !== undefined; step = byKey.get(step.parent ?? "")) {
      const result = toolResult(step);
      if (result !== undefined) answered.add(result.toolCallId);
      else if (isMessage(step)) return callsOf(step).filter(({ id }) => !answered.has(id));
    }
    return [];
  }

  /** The next places to visit below a step, last first, because they go onto a stack. */
  #childrenOf(key: string | null, parent: string | null, open: OpenCall[]): Place[] {
    const children = this.#children.get(key) ?? [];
    return children.map((step) => ({ step, parent, open: [...open] })).reverse();
  }

  #place({ step, parent, open }: Place): { parent: string | null; open: OpenCall[] } {
    const result = toolResult(step);
    if (this.#moved.has(step.key)) return { parent: this.#skip(step, parent), open };
    if (result !== undefined) return this.#placeResult({ step, parent, open }, result);
    const closed = isMessage(step) ? this.#close(step, parent, open) : parent;
    this.#emit(step, closed);
    return { parent: step.key, open: isMessage(step) ? callsOf(step) : open };
  }

  #placeResult({ step, parent, open }: Place, result: ToolResultMessage) {
    const call = open.find((candidate) => candidate.id === result.toolCallId);
    if (call === undefined) {
      this.#emit(this.#noteOf(step, result), this.#close(step, parent, open));
      return { parent: step.key, open: [] };
    }
    this.#answers.set(step.key, call.answer);
    this.#emit(named(step, result, call), parent);
    return { parent: step.key, open: open.filter((candidate) => candidate !== call) };
  }

  /** Answers the open calls above `step`: by results from below it, else by placeholders. */
  #close(step: Step, parent: string | null, open: OpenCall[]): string | null {
    let last = parent;
    for (const call of open) last = this.#answer(call, step, last);
    return last;
  }

  #answer(call: OpenCall, before: Step, parent: string | null): string {
    const late = (this.#results.get(call.id) ?? []).find(
      (step) => !this.#moved.has(step.key) && this.#isBelow(step.key, before.key),
    );
    if (late === undefined) return this.#emitMissing(call, before.key, before.at, parent);
    this.#moved.add(late.key);
    this.#notices.add("result_moved", late.source);
    this.#answers.set(late.key, call.answer);
    this.#emit(named(late, toolResult(late)!, call), parent);
    return late.key;
  }

  #closeEnd(endKey: string, parent: string | null, open: OpenCall[]): void {
    let last = parent;
    for (const call of open) last = this.#emitMissing(call, endKey, undefined, last);
    if (this.#leaf === endKey) this.#leaf = last;
  }

  #emitMissing(call: OpenCall, place: string, at: string | undefined, parent: string | null): string {
    this.#notices.add("result_missing", call.source);
    const key = `${parent}/${call.id}/missing/${place}`;
    const draft = resultDraft({
      callId: call.id,
      toolName: call.name,
      content: [text(MISSING_RESULT)],
      isError: true,
      at,
    });
    this.#answers.set(key, call.answer);
    this.#emit({ key, parent, at, draft }, parent);
    return key;
  }

  /** A result that was moved up leaves its place to what hangs on it. */
  #skip(step: Step, parent: string | null): string | null {
    if (this.#leaf === step.key) this.#leaf = parent;
    return parent;
  }

  #noteOf(step: Step, result: ToolResultMessage): Step {
    this.#notices.add("call_missing", step.source);
    const note = `[Result of a call that is not in the transcript: ${result.toolName}]\n${contentText(result.content)}`;
    const images = result.content.filter((block) => block.type === "image");
    const content = images.length === 0 ? note : [text(note), ...images];
    return {
      ...step,
      draft: { type: "custom_message", customType: "bonsai.import.result", content, display: false },
    };
  }

  #emit(step: Step, parent: string | null): void {
    this.#paired.push({ ...withoutRepeats(step), parent });
  }

  #isBelow(key: string, ancestor: string): boolean {
    for (let at: string | null | undefined = key; at !== null && at !== undefined; ) {
      if (at === ancestor) return true;
      at = this.#parents.get(at);
    }
    return false;
  }
}

interface Place {
  step: Step;
  parent: string | null;
  open: OpenCall[];
}

/** Stands for an edit that would have left out an answer without its results. */
const PARTED_EDIT = { type: "custom", customType: "bonsai.import.edit" } as const;

function omittedKey({ draft }: Step): string | undefined {
  return draft.type === "context_edit" && draft.replacement === null ? draft.targetId : undefined;
}

function push<Key>(map: Map<Key, Step[]>, key: Key, step: Step): void {
  const steps = map.get(key);
  if (steps === undefined) map.set(key, [step]);
  else steps.push(step);
}

function toolResult(step: Step): ToolResultMessage | undefined {
  if (step.draft.type !== "message" || step.draft.message.role !== "toolResult") return undefined;
  return step.draft.message;
}

/** True for what the model sees as a message of its own: open calls must be answered before it. */
function isMessage(step: Step): boolean {
  return ["message", "compaction", "branch_summary", "custom_message"].includes(step.draft.type);
}

/** One for each id: a call that its transcript repeats has one result. */
function callsOf(step: Step): OpenCall[] {
  if (step.draft.type !== "message") return [];
  const calls = new Map(toolCalls(step.draft.message).map(({ id, name }) => [id, name]));
  return [...calls].map(([id, name]) => ({ id, name, answer: step.key, source: step.source }));
}

/** An answer without the calls that its transcript repeats. */
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

/** Results often do not name their tool; the call does. */
function named(step: Step, result: ToolResultMessage, call: OpenCall): Step {
  return { ...step, draft: { type: "message", message: { ...result, toolName: call.name } } };
}
