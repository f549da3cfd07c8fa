import { execFile } from "node:child_process";
import { setCapabilityOverrides } from "@earendil-works/pi-tui";

/** A server that answers later is busy with something else. */
const patienceMs = 1_000;

/**
 * The library asks tmux whether it passes links on before it draws anything, and waits for the answer. Here there are no
 * links until tmux has said so.
 * @returns asks it, to be called once the first frame is drawn; `onLinks` is told when there are links from now on
 */
export function linksOfTmux(env: NodeJS.ProcessEnv): (onLinks: () => void) => void {
  const isTmux = env.TMUX || env.TERM?.startsWith("tmux");
  if (!isTmux || env.PI_HYPERLINKS) return () => {};
  setCapabilityOverrides({ hyperlinks: false });
  const words = ["display-message", "-p", "#{client_termfeatures}"];
  return (onLinks) => {
    const onAnswer = (error: Error | null, told: string) => {
      // Without an answer there are none.
      if (error !== null || !told.trim().split(",").includes("hyperlinks")) return;
      setCapabilityOverrides({ hyperlinks: true });
      onLinks();
    };
    try {
      execFile("tmux", words, { env, timeout: patienceMs }, onAnswer).unref();
    } catch {
      // Some refusals of the system are thrown: without an answer there are none.
    }
  };
}
