import { agentSettings } from "@bonsai-agent/agent";
import type { ModelRegistry } from "../../call/model-choice.ts";
import type { SettingsLayer } from "../../call/settings.ts";
import { readSettings, settingsFile, valueAt, withValue, writeSetting } from "../../call/settings-file.ts";
import { errorLine } from "../error-text.ts";
import type { Screen } from "../terminal/screen.ts";
import type { ThemeControl } from "../terminal/theme-control.ts";
import { askChoice, askText } from "./ask.ts";
import { type CommonSetting, commonSettings, settingName } from "./common-settings.ts";
import { pickModel } from "./model-picker.ts";
import { textLines, wholePath } from "./panel-frame.ts";
import { PickList, type PickRow } from "./pick-list.ts";
import { pickTheme, themeChoices } from "./theme-picker.ts";

interface EditSettingsOptions {
  /** Filters the list at first. */
  query: string;
  screen: Screen;
  themes: ThemeControl;
  models: ModelRegistry;
  home: string;
  inForce: () => SettingsInForce;
  /** What a setting means for the session that is open, in a sentence; undefined where there is nothing to say. */
  meansHere: (setting: CommonSetting) => string | undefined;
  /** Called after each change: what can hold at once does then. */
  onChange: (setting: CommonSetting) => void;
}

/** The settings that hold here, and where they come from. */
interface SettingsInForce {
  settings: unknown;
  layers: readonly SettingsLayer[];
}

/** Lets the user change the common settings in the user's own file. @throws BonsaiError for a file that cannot be used */
export async function editSettings(options: EditSettingsOptions): Promise<void> {
  // A file that is wrong before anything was changed is no business of the list.
  agentSettings(readSettings(options.home));
  await options.screen.show<undefined>((done) => new SettingsEditor(options, () => done(undefined)).list);
}

/** Owner of the list of settings while it is shown. */
class SettingsEditor {
  readonly list: PickList<CommonSetting>;
  readonly #options: EditSettingsOptions;
  /** As of the latest change: a list is drawn more often than a setting is changed. */
  readonly #sources = new Map<string, SettingSource>();
  /** Likewise. */
  readonly #meanings = new Map<string, string | undefined>();

  constructor(options: EditSettingsOptions, done: () => void) {
    const { screen, home, query } = options;
    this.#options = options;
    this.list = new PickList<CommonSetting>({
      place: screen,
      title: `Settings, ${wholePath(settingsFile(home))}`,
      query,
      items: commonSettings,
      key: settingName,
      text: (setting) => `${settingName(setting)} ${setting.meaning}`,
      row: (setting) => this.#row(setting),
      preview: (setting, width) => this.#preview(setting, width),
      picks: "change",
      onPick: (setting) => {
        this.#change(setting).catch((error: unknown) => this.list.update({ status: errorLine(error) }));
      },
      onCancel: done,
      actions: [
        {
          key: "ctrl+d",
          does: "reset",
          run: (setting) => setting && this.#write(setting, undefined),
        },
      ],
    });
  }

  #source(setting: CommonSetting): SettingSource {
    const { home, inForce } = this.#options;
    const name = settingName(setting);
    const source = this.#sources.get(name) ?? settingSource(setting, home, inForce());
    this.#sources.set(name, source);
    return source;
  }

  #here(setting: CommonSetting): string | undefined {
    const name = settingName(setting);
    if (!this.#meanings.has(name)) this.#meanings.set(name, this.#options.meansHere(setting));
    return this.#meanings.get(name);
  }

  #row(setting: CommonSetting): PickRow {
    const { value, isOwn, over, preset } = this.#source(setting);
    const usual = preset === undefined ? "default" : `preset ${preset}`;
    const from = over !== undefined ? ` · ${sourceWord(over)}` : isOwn ? "" : ` (${usual})`;
    return { label: settingName(setting), detail: `${shownValue(value)}${from}` };
  }

  #preview(setting: CommonSetting, width: number): string[] {
    const { own, over, usual, value: inForce } = this.#source(setting);
    const allowed = {
      switch: "on or off",
      number: numberWords(setting),
      model: "provider/id",
      theme: "",
      choice: "",
    };
    const { value } = setting;
    const { themes } = this.#options;
    const choices =
      value.kind === "choice"
        ? value.choices.join(", ")
        : value.kind === "theme"
          ? `${themeChoices(themes).join(", ")}, or a pair light/dark`
          : allowed[value.kind];
    const otherwise =
      over === undefined
        ? []
        : [`${over.name} sets ${shownValue(inForce)} here. Your own value: ${shownValue(own)}.`];
    const here = this.#here(setting);
    const lines = [
      setting.meaning,
      ...(here === undefined ? [] : [here]),
      ...otherwise,
      `Default: ${shownValue(usual)}. Allowed: ${choices}. ${holdsWords(setting)}`,
    ];
    return textLines(lines.join("\n"), width);
  }

  async #change(setting: CommonSetting): Promise<void> {
    const now = valueAt(agentSettings(readSettings(this.#options.home)), setting.path);
    const { value } = setting;
    if (value.kind === "switch") this.#write(setting, now !== true);
    else if (value.kind === "choice") await this.#choose(setting, value.choices, String(now));
    else if (value.kind === "model") await this.#chooseModel(setting, now);
    else if (value.kind === "theme") await this.#chooseTheme(setting);
    else await this.#typeNumber(setting, now);
  }

  async #choose(setting: CommonSetting, choices: readonly string[], now: string): Promise<void> {
    const picked = await askChoice(this.#options.screen, {
      title: settingName(setting),
      choices,
      current: now,
      usual: shownValue(this.#source(setting).usual),
      meaning: setting.meaning,
    });
    if (picked !== undefined) this.#write(setting, picked);
  }

  async #chooseModel(setting: CommonSetting, now: unknown): Promise<void> {
    const { screen, models } = this.#options;
    const current = typeof now === "string" ? now : "";
    const picked = await pickModel({ screen, models, current, title: settingName(setting) });
    if (picked !== undefined) this.#write(setting, picked.reference);
  }

  async #chooseTheme(setting: CommonSetting): Promise<void> {
    const { screen, themes } = this.#options;
    const picked = await pickTheme({ screen, themes });
    if (picked !== undefined) this.#write(setting, picked);
  }

  async #typeNumber(setting: CommonSetting, now: unknown): Promise<void> {
    const { screen, home } = this.#options;
    const typed = await askText(screen, {
      title: settingName(setting),
      message: `${setting.meaning} Leave it empty for the default.`,
      value: shownValue(now),
      problem: (text) => numberProblem(text, setting, home),
    });
    if (typed !== undefined) this.#write(setting, typedValue(typed, setting));
  }

  #write(setting: CommonSetting, value: unknown): void {
    const { home, onChange } = this.#options;
    try {
      writeSetting(home, setting.path, value);
      this.#sources.clear();
      onChange(setting);
      this.#meanings.clear();
      this.list.update({ status: this.#changed(setting) });
    } catch (error) {
      this.#sources.clear();
      this.list.update({ status: errorLine(error) });
    }
  }

  #changed(setting: CommonSetting): string {
    const { value, over } = this.#source(setting);
    if (over !== undefined)
      return `Saved your ${settingName(setting)}, but ${sourceWord(over)} sets it to ${shownValue(value)} here.`;
    return `${settingName(setting)} is ${shownValue(value)}. ${holdsWords(setting)}`;
  }
}

/** `16,384` and `16 384` are typed too. */
function numberOf(text: string): number {
  return Number(text.replace(/[,_\s]/g, ""));
}

/** A word that the setting knows, a number, or nothing: the default. */
function typedValue(text: string, { value }: CommonSetting): string | number | undefined {
  const typed = text.trim();
  if (typed === "") return undefined;
  const words = value.kind === "number" ? (value.words ?? []) : [];
  return words.find((word) => word === typed.toLowerCase()) ?? numberOf(typed);
}

function numberWords({ value }: CommonSetting): string {
  const words = value.kind === "number" ? (value.words ?? []) : [];
  return [...words, "a whole number"].join(", ").replace(/, (?=[^,]*$)/, " or ");
}

function notTyped(text: string, setting: CommonSetting): string {
  const words = numberWords(setting);
  return `${text} is not ${words}.`;
}

function numberProblem(text: string, setting: CommonSetting, home: string): string | undefined {
  const value = typedValue(text, setting);
  if (value === undefined) return undefined;
  if (typeof value === "number" && !Number.isFinite(value)) return notTyped(text, setting);
  try {
    agentSettings(withValue(readSettings(home), setting.path, value));
    return undefined;
  } catch (error) {
    return errorLine(error);
  }
}

/** What holds of a setting here, and where it comes from. */
interface SettingSource {
  /** What holds here. */
  value: unknown;
  /** What would hold without a word of the user's, or of those who count more. */
  usual: unknown;
  /** The value in the user's own file, or the default that it leaves. */
  own: unknown;
  isOwn: boolean;
  /** What counts more than the user's own file: a project's file, a variable, a flag. */
  over: SettingsLayer | undefined;
  /** The preset, where its value is not Bonsai's own. */
  preset: string | undefined;
}

/** @throws BonsaiError for the user's file, where it cannot be used */
function settingSource(
  { path }: CommonSetting,
  home: string,
  { settings, layers }: SettingsInForce,
): SettingSource {
  const file = readSettings(home);
  const usual = valueAt(agentSettings(withValue(file, path, undefined)), path);
  const isOwn = valueAt(file, path) !== undefined;
  const top = layers.findLast(({ section }) => valueAt(section, path) !== undefined);
  const over = top?.origin === "user" ? undefined : top;
  const value = valueAt(settings, path);
  const preset = valueAt(settings, ["compaction", "preset"]);
  const isOfPreset =
    top === undefined && path[0] === "compaction" && value !== valueAt(agentSettings({}), path);
  return {
    value,
    usual,
    own: isOwn ? valueAt(file, path) : usual,
    isOwn,
    over,
    preset: isOfPreset && typeof preset === "string" ? preset : undefined,
  };
}

/** The origin in a word, for the row. */
function sourceWord({ origin, name }: SettingsLayer): string {
  return origin === "project" ? "this project" : name;
}

/** From when on a change holds, as a sentence. */
function holdsWords(setting: CommonSetting): string {
  if (setting.holds === "now") return "Takes effect immediately.";
  if (setting.holds === "session") return "Takes effect in the next session (/new, /resume).";
  const also = settingName(setting) === "model" ? ". Use /model for this session" : "";
  return `Takes effect at the next start${also}.`;
}

/** As it is shown in the list. */
function shownValue(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "string" ? value : JSON.stringify(value);
}
