import { type LifecycleEvents, lifecycleEventRules } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";

type Events = Lifecycle<LifecycleEvents>;

/** The time that handlers also have when an agent is closed. */
const SHUTDOWN_LIMIT_MS = 5_000;
/** The time after which a start names its slow handlers. */
export const START_LIMIT_MS = 30_000;

/** Before extensions are unloaded. Handlers that take longer than the limit are left alone. */
export async function notifyShutdown(lifecycle: Events): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), SHUTDOWN_LIMIT_MS);
  const event = { type: "session_shutdown", reason: "reload" } as const;
  await lifecycle
    .notify("session_shutdown", event, { signal: late.signal })
    .finally(() => clearTimeout(timer));
}

/** After the new extensions were loaded. Without a signal, the wait ends after the limit, but all handlers are called. */
export async function notifyStart(lifecycle: Events, signal: AbortSignal | undefined): Promise<void> {
  const event = { type: "session_start", reason: "reload" } as const;
  if (signal !== undefined) return lifecycle.notify("session_start", event, { signal });
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, START_LIMIT_MS);
  await Promise.race([lifecycle.notify("session_start", event), late.promise]).finally(() =>
    clearTimeout(timer),
  );
}

/**
 * Between unloading and loading, guards are missing. So every event that asks extensions waits until the function returned
 * is called, and then asks the new extensions.
 */
export function deferDecisions(lifecycle: Events): () => void {
  const opened = Promise.withResolvers<void>();
  const names = Object.entries(lifecycleEventRules).flatMap(([name, { kind }]) =>
    kind === "decide" ? [name as Parameters<Events["decide"]>[0]] : [],
  );
  const undos = names.map((name) => {
    const asked = async (payload: never, { signal }: { signal: AbortSignal }) => {
      await opened.promise;
      return (await lifecycle.decide(name, payload, { signal })).result;
    };
    return lifecycle.on(name, asked as never, { source: "reload" } as never);
  });
  return () => {
    for (const undo of undos) undo();
    lifecycle.removeSource("reload");
    opened.resolve();
  };
}
