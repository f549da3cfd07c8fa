import type { InteractiveWork } from "../interactive-work.ts";
import { welcome } from "./welcome.ts";

/** Another session, whoever went there: the chat shows what it has. */
export function followSessions({ host, chat, screen }: InteractiveWork): void {
  host.workshop.lifecycle.on("session_start", ({ reason }) => {
    if (reason === "reload") chat.redrawDrawn();
    if (reason !== "new" && reason !== "resume" && reason !== "fork") return;
    // The session that the program was started with stands there already, and under it what was told since.
    if (chat.isShowing(host.agent.session)) return;
    chat.rebuild(host.agent.session);
    welcome(chat, host.agent, host.workshop.call.version);
    screen.redraw();
  });
}
