import { agentSettings, agentSettingsSchema } from "@bonsai-agent/agent";
import type { Call } from "../../call/invocation.ts";
import { readCallSettings, type SettingsLayer, settingsLayers } from "../../call/settings.ts";
import {
  readSettings,
  type SettingPath,
  settingsFile,
  valueAt,
  withValue,
  writeSetting,
} from "../../call/settings-file.ts";
import { errorLine } from "../../views/error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { askPick, askText } from "../panels/ask.ts";
import { pickModel } from "../panels/model-picker.ts";
import { textLines, wholePath } from "../panels/panel-frame.ts";
import { PickList, type PickRow, showList } from "../panels/pick-list.ts";
import { pickTheme, themeChoices } from "./theme.ts";

export const settingsCommand: SlashCommand = {
  name: "settings",
  description: "Change settings: thinking, theme, compaction and more",
  argumentHint: "[search]",
  worksWhileBusy: true,
  async run(query, context) {
    // A file that is wrong before any change is not the list's concern.
    agentSettings(readSettings(context.host.app.home));
    await showList<Setting, void>(
      context.screen,
      (done) => new SettingsEditor(context, query, () => done(undefined)).list,
    );
  },
};

/** Reads settings, flags and the trusted project again. Compaction settings and the theme take effect at once. */
export function useSettings(context: InteractiveContext): void {
  const { host, screen, themes } = context;
  const settings = readCallSettings(quietCall(context));
  host.app.settings = settings;
  host.agent.setCompactionSettings(settings.compaction);
  themes.choose(settings.theme);
  context.status.contextChanged();
  screen.redraw();
}

/** The start has reported the ignored settings. */
function quietCall({ host }: InteractiveContext): Call {
  return { ...host.app.call, output: { notify: () => {} } };
}

type TakesEffect = "now" | "session" | "start";

/** The settings of /settings in its order, and when a change takes effect. */
const LISTED: Readonly<Record<string, TakesEffect>> = {
  model: "start",
  smallModel: "session",
  thinking: "now",
  titles: "session",
  theme: "now",
  "compaction.enabled": "now",
  "compaction.onOverflow": "now",
  "compaction.confirm": "now",
  "compaction.preset": "now",
  "compaction.threshold.rule": "now",
  "compaction.threshold.reserveTokens": "now",
  "compaction.threshold.percent": "now",
  "compaction.threshold.sizeTokens": "now",
  "compaction.economy": "now",
  "compaction.keepRecentTokens": "now",
  "compaction.mask.enabled": "now",
  "compaction.mask.protectTokens": "now",
  "compaction.words.maxTokens": "now",
  "compaction.terms.maxTokens": "now",
  "compaction.lossCheck": "now",
  "compaction.summarizer.fallback": "now",
};

/** A setting in the list. Its meaning and values come from the schema. */
export interface Setting {
  name: string;
  path: SettingPath;
  takesEffect: TakesEffect;
  meaning: string;
  kind: "switch" | "choice" | "number" | "model" | "theme";
  /** The values of a choice, or the words that a number setting takes too. */
  words: readonly string[];
}

interface JsonSchema {
  description?: string;
  type?: string;
  enum?: readonly string[];
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
}

/** Takes some milliseconds, so not at the start. */
export function listedSettings(): Setting[] {
  const schema = agentSettingsSchema.toJSONSchema({ io: "input" }) as JsonSchema;
  return Object.entries(LISTED).map(([name, takesEffect]) => {
    const path = name.split(".");
    const field = path.reduce<JsonSchema | undefined>((outer, key) => outer?.properties?.[key], schema) ?? {};
    const words = field.enum ?? field.anyOf?.find((each) => each.enum !== undefined)?.enum ?? [];
    return { name, path, takesEffect, meaning: field.description ?? "", kind: kindOf(name, field), words };
  });
}

function kindOf(name: string, { type, enum: choices }: JsonSchema): Setting["kind"] {
  if (name === "theme") return "theme";
  if (type === "boolean") return "switch";
  if (choices !== undefined) return "choice";
  return type === "string" ? "model" : "number";
}

interface SettingState {
  value: unknown;
  /** The value without an own one. */
  usual: unknown;
  /** The value in the user's file, or the default. */
  own: unknown;
  isOwn: boolean;
  /** Overrides the user's file: the project's file, a variable, a flag. */
  over: SettingsLayer | undefined;
  /** The preset, if the value is not Bonsai's own. */
  preset: string | undefined;
}

class SettingsEditor {
  readonly list: PickList<Setting>;
  readonly #context: InteractiveContext;
  readonly #home: string;
  /** As of the latest change: a list is drawn often. */
  readonly #states = new Map<Setting, SettingState>();

  constructor(context: InteractiveContext, query: string, done: () => void) {
    this.#context = context;
    this.#home = context.host.app.home;
    this.list = new PickList<Setting>({
      place: context.screen,
      title: `Settings, ${wholePath(settingsFile(this.#home))}`,
      query,
      items: listedSettings(),
      key: ({ name }) => name,
      text: ({ name, meaning }) => `${name} ${meaning}`,
      row: (setting) => this.#row(setting),
      preview: (setting, width) => this.#preview(setting, width),
      picks: "change",
      onPick: (setting) => this.#change(setting),
      onCancel: done,
      actions: [
        { key: "ctrl+d", does: "reset", run: (setting) => setting && this.#write(setting, undefined) },
      ],
    });
  }

  #state(setting: Setting): SettingState {
    const state = this.#states.get(setting) ?? settingState(setting, this.#context);
    this.#states.set(setting, state);
    return state;
  }

  #row(setting: Setting): PickRow {
    const { value, isOwn, over, preset } = this.#state(setting);
    const usual = preset === undefined ? "default" : `preset ${preset}`;
    const from = over !== undefined ? ` · ${layerName(over)}` : isOwn ? "" : ` (${usual})`;
    return { label: setting.name, detail: `${shownValue(value)}${from}` };
  }

  #preview(setting: Setting, width: number): string[] {
    const { own, over, usual, value } = this.#state(setting);
    const lines = [
      setting.meaning,
      ...(over === undefined
        ? []
        : [`${over.name} sets ${shownValue(value)} here. Your own value: ${shownValue(own)}.`]),
      `Default: ${shownValue(usual)}. Allowed: ${this.#allowed(setting)}. ${effectText(setting)}`,
    ];
    return textLines(lines.join("\n"), width);
  }

  #allowed(setting: Setting): string {
    switch (setting.kind) {
      case "switch":
        return "on or off";
      case "choice":
        return setting.words.join(", ");
      case "number":
        return numberWords(setting);
      case "model":
        return "provider/id";
      case "theme":
        return `${themeChoices(this.#context.themes).join(", ")}, or a pair light/dark`;
    }
  }

  async #change(setting: Setting): Promise<string | undefined> {
    const now = valueAt(agentSettings(readSettings(this.#home)), setting.path);
    if (setting.kind === "switch") return this.#write(setting, now !== true);
    const picked = await this.#ask(setting, now);
    return picked === undefined ? undefined : this.#write(setting, picked.value);
  }

  /** @returns undefined if the user leaves the question */
  async #ask(setting: Setting, now: unknown): Promise<{ value: unknown } | undefined> {
    const { screen, host } = this.#context;
    const { name: title, meaning, kind } = setting;
    if (kind === "number") {
      const typed = await askText(screen, {
        title,
        message: `${meaning} Leave it empty for the default.`,
        value: shownValue(now),
        problem: (text) => numberProblem(text, setting, this.#home),
      });
      return typed === undefined ? undefined : { value: typedNumber(typed, setting) };
    }
    const current = typeof now === "string" ? now : "";
    const value =
      kind === "choice"
        ? await this.#askChoice(setting, current)
        : kind === "model"
          ? (await pickModel({ screen, models: host.app.models, current, title }))?.reference
          : await pickTheme(this.#context);
    return value === undefined ? undefined : { value };
  }

  #askChoice(setting: Setting, current: string): Promise<string | undefined> {
    const usual = shownValue(this.#state(setting).usual);
    return askPick(this.#context.screen, {
      title: setting.name,
      items: setting.words,
      selected: current,
      row: (choice) => ({
        label: choice,
        detail: choice === usual ? "default" : undefined,
        mark: choice === current ? "●" : undefined,
      }),
      preview: (_choice, width) => textLines(setting.meaning, width),
    });
  }

  /** @returns the outcome */
  #write(setting: Setting, value: unknown): string {
    const context = this.#context;
    const before = context.host.app.settings.thinking;
    try {
      writeSetting(this.#home, setting.path, value);
      useSettings(context);
    } finally {
      this.#states.clear();
    }
    const { thinking } = context.host.app.settings;
    if (setting.name === "thinking" && thinking !== before) void context.host.agent.setThinking(thinking);
    const { value: inForce, over } = this.#state(setting);
    return over === undefined
      ? `${setting.name} is ${shownValue(inForce)}. ${effectText(setting)}`
      : `Saved your ${setting.name}, but ${layerName(over)} sets it to ${shownValue(inForce)} here.`;
  }
}

/** @throws BonsaiError for a user's file that cannot be used */
function settingState(setting: Setting, context: InteractiveContext): SettingState {
  const { path } = setting;
  const { settings, home } = context.host.app;
  const file = readSettings(home);
  const usual = valueAt(agentSettings(withValue(file, path, undefined)), path);
  const own = valueAt(file, path);
  const top = settingsLayers(quietCall(context)).findLast(
    ({ section }) => valueAt(section, path) !== undefined,
  );
  const value = valueAt(settings, path);
  const isOfPreset =
    top === undefined && path[0] === "compaction" && value !== valueAt(agentSettings({}), path);
  return {
    value,
    usual,
    own: own ?? usual,
    isOwn: own !== undefined,
    over: top?.origin === "user" ? undefined : top,
    preset: isOfPreset ? settings.compaction.preset : undefined,
  };
}

/** A word of the setting, a number such as `16,384`, or undefined for the default. */
function typedNumber(text: string, { words }: Setting): string | number | undefined {
  const typed = text.trim();
  if (typed === "") return undefined;
  return words.find((word) => word === typed.toLowerCase()) ?? Number(typed.replace(/[,_\s]/g, ""));
}

function numberWords({ words }: Setting): string {
  return [...words, "a whole number"].join(", ").replace(/, (?=[^,]*$)/, " or ");
}

function numberProblem(text: string, setting: Setting, home: string): string | undefined {
  const value = typedNumber(text, setting);
  if (Number.isNaN(value)) return `${text} is not ${numberWords(setting)}.`;
  try {
    agentSettings(withValue(readSettings(home), setting.path, value));
    return undefined;
  } catch (error) {
    return errorLine(error);
  }
}

function layerName({ origin, name }: SettingsLayer): string {
  return origin === "project" ? "this project" : name;
}

function effectText({ name, takesEffect }: Setting): string {
  if (takesEffect === "now") return "Takes effect immediately.";
  if (takesEffect === "session") return "Takes effect in the next session (/new, /resume).";
  return `Takes effect at the next start${name === "model" ? ". Use /model for this session" : ""}.`;
}

function shownValue(value: unknown): string {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return typeof value === "string" ? value : JSON.stringify(value);
}
