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
