import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { DecideNames, Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";

type Name = DecideNames<LifecycleEvents> & string;

const decided = (Object.keys(lifecycleEventRules) as (keyof LifecycleEvents)[]).filter(
  (name): name is Name => lifecycleEventRules[name].kind === "decide",
);

/**
 * Lets every event that asks extensions wait until the function returned is called, and then be asked of the extensions
 * of then: between unloading and loading, guards would be missing.
 */
export function holdDecisions(lifecycle: Lifecycle<LifecycleEvents>): () => void {
  const opened = Promise.withResolvers<void>();
  const asked = async <Asked extends Name>(
    name: Asked,
    payload: PayloadOf<LifecycleEvents[Asked]>,
    signal: AbortSignal,
  ) => {
    await opened.promise;
    return (await lifecycle.decide(name, payload, { signal })).result;
  };
  const undos = decided.map((name) =>
    lifecycle.on(
      name,
      ((payload: never, { signal }: { signal: AbortSignal }) => asked(name, payload, signal)) as never,
      { source: "reload" } as never,
    ),
  );
  return () => {
    for (const undo of undos) undo();
    lifecycle.removeSource("reload");
    opened.resolve();
  };
}

/** As long as handlers have when an agent is closed. */
const patienceMs = 5_000;
/** As long as handlers have before they are named. */
const startPatienceMs = 30_000;

/** Tells extensions that they will be unloaded; who takes longer than five seconds is not waited for. */
export async function tellOfReload(lifecycle: Lifecycle<LifecycleEvents>): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error("The extensions are loaded anew.")), patienceMs);
  try {
    const { signal } = late;
    await lifecycle.notify("session_shutdown", { type: "session_shutdown", reason: "reload" }, { signal });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Tells extensions that they were loaded anew: until the signal is aborted; without one, the others are told after half
 * a minute without anybody waiting.
 */
export async function tellOfStart(
  lifecycle: Lifecycle<LifecycleEvents>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const event = { type: "session_start" as const, reason: "reload" as const };
  if (signal !== undefined) return lifecycle.notify("session_start", event, { signal });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, startPatienceMs);
  try {
    const told = lifecycle.notify("session_start", event);
    await Promise.race([told, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
