import { forkChoice } from "../../work/session-control.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { fillEditor } from "../tree/fill-editor.ts";
import { openTreeModel, pickEntry } from "../tree/pick-entry.ts";
import { sentMessage } from "../tree/sent-message.ts";
import type { SlashCommand } from "./slash-command.ts";

export const fork: SlashCommand = {
  name: "fork",
  description: "Go on in a new session from one of your messages",
  run: (_args, work) => forkSession(work),
};

async function forkSession(work: InteractiveWork): Promise<void> {
  const { host, tell } = work;
  const model = openTreeModel(work, "user only");
  if (model.rows.length === 0) {
    tell({ level: "info", message: "There is no message to fork from yet." });
    return;
  }
  const at = await pickEntry(work, model, {
    title: "Fork: which message is written anew?",
    choice: "fork",
    canLabel: false,
  });
  if (at === undefined) return;
  const { id } = model.entryAt(at);
  const sent = sentMessage(host.agent.session, id);
  if (!(await host.fork(id, forkChoice(host, id, "before"), "before"))) {
    tell({ level: "warning", message: "An extension did not let the session be forked." });
    return;
  }
  tell({ level: "info", message: "This is a new session; the one before stays as it is." });
  fillEditor(work, sent);
}
