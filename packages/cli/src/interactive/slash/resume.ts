import { namedChoice } from "../../work/session-control.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { pickSession } from "../panels/sessions/session-picker.ts";
import type { SlashCommand } from "./slash-command.ts";

export const resume: SlashCommand = {
  name: "resume",
  description: "Open another session: search, name and delete them",
  argumentHint: "[id or file]",
  async run(args, work) {
    const file = args === "" ? await chosenFile(work) : args;
    if (file === undefined) return;
    const { host } = work;
    if (file === host.agent.session.file) {
      work.tell({ level: "info", message: "This is the session that is open." });
      return;
    }
    if (!(await host.replace("resume", namedChoice(host, file))))
      work.tell({ level: "info", message: "The session was not left." });
  },
};

async function chosenFile({ host, screen }: InteractiveWork): Promise<string | undefined> {
  const { home, cwd, call } = host.workshop;
  const session = await pickSession({
    screen,
    home,
    cwd,
    now: () => call.io.now(),
    inUse: host.agent.session.file,
    nameInUse: (name) => host.setName(name),
  });
  return session?.file;
}
