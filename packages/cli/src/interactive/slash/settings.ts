import { agentCallSettings } from "../../settings.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import type { CommonSetting } from "../panels/settings/common-settings.ts";
import { settingName } from "../panels/settings/common-settings.ts";
import { editSettings } from "../panels/settings/edit-settings.ts";
import { readSettings, validSettings, valueAt } from "../panels/settings/settings-file.ts";
import type { SlashCommand } from "./slash-command.ts";

export const settings: SlashCommand = {
  name: "settings",
  description: "Change the common settings, with their meaning and default",
  worksWhileBusy: true,
  async run(_args, work) {
    const { host, screen, tell } = work;
    const { home, shelf } = host.workshop;
    const changed = new Set<string>();
    await editSettings({
      screen,
      shelf,
      home,
      onChange: (setting) => {
        changed.add(settingName(setting));
        return takeEffect(setting, work);
      },
    });
    if (changed.size > 0)
      tell({
        level: "info",
        message: `Settings changed: ${[...changed].join(", ")}. They hold in the next session: /new, /resume, or a start.`,
      });
  },
};

/** The sessions that are opened from now on are worked on with what was changed. */
function takeEffect({ path }: CommonSetting, { host }: InteractiveWork): string {
  const { workshop } = host;
  workshop.settings = agentCallSettings({ ...workshop.call, output: { tell: () => {} } });
  const own = valueAt(validSettings(readSettings(workshop.home)), path);
  const isHidden = JSON.stringify(valueAt(workshop.settings, path)) !== JSON.stringify(own);
  return isHidden
    ? "Saved; but this project's settings, the environment or a flag say otherwise here."
    : "Saved; holds in the next session: /new, /resume, or a start.";
}
