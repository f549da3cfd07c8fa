import { projectUse } from "../../extensions/project-use.ts";
import { isTrusted, untrustFolder } from "../../trust.ts";
import { askTrust } from "../session/ask-trust.ts";
import { useSettings } from "../session/use-settings.ts";
import type { SlashCommand } from "./slash-command.ts";

const later =
  "Compaction settings and theme follow at once, extensions at /reload, other settings at the next start.";

export const trust: SlashCommand = {
  name: "trust",
  description: "Use the settings and extensions that this project brings",
  argumentHint: "[off]",
  complete: (prefix) =>
    "off".startsWith(prefix) ? [{ value: "off", label: "off", description: "Take the trust back" }] : [],
  async run(args, work) {
    const { host, screen, tell } = work;
    const { home, cwd } = host.workshop;
    const say = (message: string) => tell({ level: "info", message });
    if (args !== "" && args !== "off") return say("Write /trust, or /trust off to take it back.");
    if (args === "off") {
      const isGone = untrustFolder(cwd, home);
      if (isGone) useSettings(work);
      const fromAbove = isTrusted(cwd, home) ? " A folder above it is still trusted." : "";
      return say(
        isGone ? `${cwd} is no longer trusted.${fromAbove} ${later}` : `${cwd} was not trusted.${fromAbove}`,
      );
    }
    if (isTrusted(cwd, home)) return say(`${cwd} is trusted; /trust off takes that back.`);
    const use = await projectUse(cwd, home);
    if (!(await askTrust({ screen, home, cwd }, use))) return;
    useSettings(work);
    say(`${cwd} is trusted. ${later}`);
  },
};
