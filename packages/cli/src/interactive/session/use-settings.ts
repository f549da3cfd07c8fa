import { agentCallSettings } from "../../settings.ts";
import type { SettingsCall } from "../../settings-call.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { wearTheme } from "../theme/wear-theme.ts";

/**
 * Reads the settings anew, flags and the trusted project's over the user's: those of compactions and the theme hold at
 * once, the others in the sessions that are opened from then on.
 * @throws BonsaiError for settings that cannot be used; then those of before hold
 */
export function useSettings(work: InteractiveWork): void {
  const { host, screen } = work;
  const settings = agentCallSettings(quietCall(work));
  host.workshop.settings = settings;
  host.agent.setCompactionSettings(settings.compaction);
  wearTheme(screen, settings.theme);
  screen.redraw();
}

/** What is left aside was told at the start. */
export function quietCall({ host }: InteractiveWork): SettingsCall {
  return { ...host.workshop.call, output: { notify: () => {} } };
}
