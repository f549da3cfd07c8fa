import type { LifecycleEvents } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";

/** As long as handlers have when an agent is closed. */
const patienceMs = 5_000;

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
