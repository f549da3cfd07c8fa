import {
  type DecideEvent,
  type DecideRule,
  type EventRules,
  Lifecycle,
  type NotifyEvent,
} from "@bonsai-agent/lifecycle";
import { describe, expect, it } from "vitest";
import { type SampleEvents, sampleLifecycle, sampleRules } from "./sample-events.ts";

// The compiler checks them (tsc -p tsconfig.test.json): each line below an expect-error must not compile.

export function misuseOfOn(lifecycle: Lifecycle<SampleEvents>) {
  // @ts-expect-error an event that does not exist
  lifecycle.on("sesion_start", () => {});
  // @ts-expect-error a field that the payload does not have
  lifecycle.on("session_start", (event) => event.nope);
  // @ts-expect-error a handler of another payload
  lifecycle.on("session_start", (event: { reason: number }) => void event);
  // @ts-expect-error a result of an event that takes none
  lifecycle.on("session_start", () => ({ cancel: true }));
  // @ts-expect-error the same, later
  lifecycle.on("session_start", async () => ({ cancel: true }));
  // @ts-expect-error a field that the result does not have
  lifecycle.on("before_compact", () => ({ summary: "text" }));
  // @ts-expect-error a value that the field cannot have
  lifecycle.on("before_compact", () => ({ cancel: "yes" }));
  // @ts-expect-error rubbish
  lifecycle.on("before_compact", () => "cancel");
  // @ts-expect-error the same, later
  lifecycle.on("before_compact", async () => ["cancel"]);
  // @ts-expect-error what others proposed is to be read
  lifecycle.on("before_compact", (_event, context) => void delete context.current);
  // @ts-expect-error the result of another event
  lifecycle.on("tool_call", () => ({ cancel: true }));
  // @ts-expect-error a policy that does not exist
  lifecycle.on("before_compact", () => {}, { onError: "ignore" });
  // @ts-expect-error a policy where there is nothing to refuse
  lifecycle.on("session_start", () => {}, { onError: "cancel" });
}

export async function misuseOfCalls(lifecycle: Lifecycle<SampleEvents>) {
  // @ts-expect-error an event that does not exist
  await lifecycle.notify("sesion_start", { reason: "new" });
  // @ts-expect-error a missing field
  await lifecycle.notify("session_start", {});
  // @ts-expect-error a value that the field cannot have
  await lifecycle.notify("session_start", { reason: 1 });
  // @ts-expect-error a decide event is asked, not notified
  await lifecycle.notify("before_compact", { reason: "manual" });
  // @ts-expect-error a notify event is notified, not asked
  await lifecycle.decide("session_start", { reason: "new" });
  // @ts-expect-error another event's payload
  await lifecycle.decide("before_compact", { toolName: "bash", input: {} });
  // @ts-expect-error a signal is a signal
  await lifecycle.decide("before_compact", { reason: "manual" }, { signal: new AbortController() });
  const { result, sources, payload } = await lifecycle.decide("before_compact", { reason: "manual" });
  // @ts-expect-error everybody may have abstained
  result.cancel;
  // @ts-expect-error a field that the result does not have
  sources.summary;
  payload.reason satisfies string;
  result?.compaction satisfies string | undefined;
  // @ts-expect-error a name that no event has
  lifecycle.hasHandlers("sesion_start");
}

export function misuseOfRules() {
  const { input, ...others } = sampleRules;
  // @ts-expect-error a rule is missing
  new Lifecycle<SampleEvents>({ rules: others });
  // @ts-expect-error a rule of the wrong kind
  new Lifecycle<SampleEvents>({ rules: { ...others, input: { kind: "notify" } } });
  // @ts-expect-error a decide rule for a notify event
  new Lifecycle<SampleEvents>({ rules: { ...sampleRules, session_start: input } });
  const rule = sampleRules.before_compact;
  // @ts-expect-error an exclusive field that the result does not have
  ({ ...rule, exclusive: ["summary"] }) satisfies EventRules<SampleEvents>["before_compact"];
  // @ts-expect-error a refusal that is no result
  ({ ...rule, refusal: () => ({ block: true }) }) satisfies EventRules<SampleEvents>["before_compact"];
  // @ts-expect-error a read-only field that the payload does not have
  ({ ...rule, readOnly: ["nope"] }) satisfies EventRules<SampleEvents>["before_compact"];
  // @ts-expect-error a transformation to something that is no payload
  ({ ...input, transform: () => ({ text: 1 }) }) satisfies EventRules<SampleEvents>["input"];
}

// Each package defines the types of its own events, and the agent joins them.

interface SessionEvents {
  session_tree: NotifyEvent<{ newLeafId: string }>;
}
interface CompactionEvents {
  before_compact: DecideEvent<{ reason: string }, { cancel?: true }>;
}
interface RunEvents {
  turn_start: NotifyEvent<{ turn: number }>;
}
interface LifecycleEvents extends SessionEvents, CompactionEvents, RunEvents {}

const sessionRules: EventRules<SessionEvents> = { session_tree: { kind: "notify" } };
const beforeCompact: DecideRule<{ cancel?: true }> = {
  kind: "decide",
  onError: "report",
  exclusive: [],
  final: (result) => result.cancel === true,
  refusal: () => ({ cancel: true }),
};
const compactionRules: EventRules<CompactionEvents> = { before_compact: beforeCompact };
const runRules: EventRules<RunEvents> = { turn_start: { kind: "notify" } };

export function misuseOfJoins() {
  // @ts-expect-error a package's rules are missing
  new Lifecycle<LifecycleEvents>({ rules: { ...sessionRules, ...runRules } });
  // @ts-expect-error a part is not the whole
  takesAll(new Lifecycle<CompactionEvents>({ rules: compactionRules }));
}

function takesAll(lifecycle: Lifecycle<LifecycleEvents>): void {
  void lifecycle;
}

/** The events of one package, without others. */
function cancels(lifecycle: Lifecycle<CompactionEvents>): Promise<boolean> {
  return lifecycle
    .decide("before_compact", { reason: "manual" })
    .then(({ result }) => result?.cancel === true);
}

describe("joined events", () => {
  it("serve each package that knows only its own", async () => {
    const lifecycle = new Lifecycle<LifecycleEvents>({
      rules: { ...sessionRules, ...compactionRules, ...runRules },
    });
    expect(await cancels(lifecycle)).toBe(false);
    lifecycle.on("before_compact", (event) => (event.reason === "manual" ? { cancel: true } : undefined));
    expect(await cancels(lifecycle)).toBe(true);
  });

  it("keep the names of all", () => {
    const { lifecycle } = sampleLifecycle();
    expect(lifecycle.hasHandlers("session_start")).toBe(false);
  });
});
