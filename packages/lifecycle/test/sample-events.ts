import {
  type DecideEvent,
  type EventRules,
  Lifecycle,
  type LifecycleNotice,
  type NotifyEvent,
} from "@bonsai-agent/lifecycle";

/** One event of every kind that the design's table has. */
export interface SampleEvents {
  session_start: NotifyEvent<{ reason: string }>;
  session_compact: NotifyEvent<{ compactionEntry: { id: string; details: { files: string[] } } }>;
  /** Veto or supply: cancel ends the chain, the summary has one owner. */
  before_compact: DecideEvent<
    { reason: string; preparation?: { firstKeptEntryId: string; messages: string[] } },
    { cancel?: true; reason?: string; compaction?: string; label?: string; notes?: Record<string, string> }
  >;
  /** Adding up. */
  before_mask: DecideEvent<{ entryIds: string[] }, { cancel?: true; keep?: string[] }>;
  /** A chained transformation that one handler can end. */
  input: DecideEvent<{ text: string }, { text?: string; handled?: true }>;
  /** Fails closed; its input can be changed in place. */
  tool_call: DecideEvent<
    { toolName: string; input: Record<string, unknown> },
    { block?: true; reason?: string }
  >;
}

export const sampleRules: EventRules<SampleEvents> = {
  session_start: { kind: "notify" },
  session_compact: { kind: "notify", readOnly: ["compactionEntry"] },
  before_compact: {
    kind: "decide",
    onError: "report",
    exclusive: ["compaction"],
    keyed: ["notes"],
    isResult: (value) =>
      !("notes" in value) ||
      value.notes === undefined ||
      typeof value.notes === "object" ||
      "notes that are no object",
    readOnly: ["preparation"],
    final: (result) => result.cancel === true,
    refusal: () => ({ cancel: true }),
  },
  before_mask: {
    kind: "decide",
    onError: "report",
    exclusive: [],
    merge: { keep: (earlier, later) => [...new Set([...earlier, ...later])] },
    isResult: (value, payload) => {
      const { entryIds } = payload as { entryIds: string[] };
      const { keep = [] } = value as { keep?: unknown };
      return Array.isArray(keep) && keep.every((id) => entryIds.includes(id));
    },
    final: (result) => result.cancel === true,
    refusal: () => ({ cancel: true }),
  },
  input: {
    kind: "decide",
    onError: "report",
    exclusive: [],
    final: (result) => result.handled === true,
    refusal: () => ({}),
    transform: (payload, { text }) => (text === undefined ? payload : { ...payload, text }),
  },
  tool_call: {
    kind: "decide",
    onError: "cancel",
    exclusive: [],
    isResult: (value) => "block" in value || Object.keys(value).length === 0,
    final: (result) => result.block === true,
    refusal: (error) => ({ block: true, reason: String(error) }),
  },
};

/** A lifecycle of the sample events that keeps its notices. */
type Options = ConstructorParameters<typeof Lifecycle<SampleEvents>>[0];

export function sampleLifecycle(options: Partial<Options> = {}) {
  const notices: LifecycleNotice[] = [];
  const lifecycle = new Lifecycle<SampleEvents>({
    rules: sampleRules,
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  return { lifecycle, notices };
}
