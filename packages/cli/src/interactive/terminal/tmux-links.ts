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
  return (onLinks) => {
    const words = ["display-message", "-p", "#{client_termfeatures}"];
    const asked = execFile("tmux", words, { env, timeout: patienceMs }, (error, told) => {
      // Without an answer there are none.
      if (error !== null || !told.trim().split(",").includes("hyperlinks")) return;
      setCapabilityOverrides({ hyperlinks: true });
      onLinks();
    });
    asked.unref();
  };
}
