import { oneLine } from "../../views/printable.ts";
import { askText } from "../panels/ask.ts";
import type { SlashCommand } from "./slash-command.ts";

export const name: SlashCommand = {
  name: "name",
  description: "Name this session",
  argumentHint: "[text]",
  worksWhileBusy: true,
  async run(args, { host, screen, tell }) {
    const { sessionName } = host.agent.state;
    const typed =
      args !== ""
        ? args
        : await askText(screen, {
            title: "Name of this session",
            message: "Without a text, it goes by its first words.",
            value: sessionName ?? "",
            placeholder: "no name",
          });
    if (typed === undefined) return;
    const text = oneLine(typed);
    if (text === (sessionName ?? "")) return;
    await host.setName(text);
    tell({
      level: "info",
      message: text === "" ? "This session has no name now." : `This session is called “${text}” now.`,
    });
  },
};
