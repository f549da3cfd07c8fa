import { settingsLayers } from "../../settings.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { type CommonSetting, settingName } from "../panels/settings/common-settings.ts";
import { editSettings } from "../panels/settings/edit-settings.ts";
import { quietCall, useSettings } from "../session/use-settings.ts";
import type { SlashCommand } from "./slash-command.ts";

export const settings: SlashCommand = {
  name: "settings",
  description: "Change the common settings, with their meaning and default",
  worksWhileBusy: true,
  async run(_args, work) {
    const { host, screen, tell } = work;
    const { home, shelf } = host.workshop;
    const changed = new Map<string, CommonSetting>();
    await editSettings({
      screen,
      shelf,
      home,
      inForce: () => ({ settings: host.workshop.settings, layers: settingsLayers(quietCall(work)) }),
      onChange: (setting) => {
        changed.set(settingName(setting), setting);
        takeEffect(setting, work);
      },
    });
    if (changed.size > 0) tell({ level: "info", message: changeWords([...changed.values()]) });
  },
};

/** What a flag, the environment or the project says otherwise stays so. */
function takeEffect(setting: CommonSetting, work: InteractiveWork): void {
  const before = work.host.workshop.settings.thinking;
  useSettings(work);
  const { thinking } = work.host.workshop.settings;
  if (settingName(setting) === "thinking" && thinking !== before) void work.host.agent.setThinking(thinking);
}

function changeWords(changed: readonly CommonSetting[]): string {
  const names = (holds: CommonSetting["holds"]) =>
    changed
      .filter((setting) => setting.holds === holds)
      .map(settingName)
      .join(", ");
  const [session, start] = [names("session"), names("start")];
  return [
    `Settings changed: ${changed.map(settingName).join(", ")}.`,
    ...(session === "" ? [] : [`From the next session on: ${session}.`]),
    ...(start === "" ? [] : [`From the next start on: ${start}.`]),
  ].join(" ");
}
