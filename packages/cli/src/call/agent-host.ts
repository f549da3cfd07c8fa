import { type Agent, type ConfirmMoreRequests, openAgent } from "@bonsai-agent/agent";
import type { FrontEndUI } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import { type CatalogueModel, type ThinkingLevel, thinkingLevels } from "@bonsai-agent/models";
import { rememberContinued, type Session } from "@bonsai-agent/session";
import type { AppContext } from "./app-context.ts";
import {
  chooseModel,
  findModel,
  findWanted,
  type ModelChoice,
  type ModelCycle,
  type ModelRegistry,
  modelCycle,
  namedReference,
  nextChoice,
} from "./model-choice.ts";
import { shownPath } from "./paths.ts";
import { givenPrompt } from "./prompt-input.ts";
import { oneAfterTheOther } from "./questions.ts";
import { chooseSession, type SessionChoice, sessionControl } from "./session-choice.ts";
import { sessionPlace } from "./session-file.ts";
import { excludedTools } from "./settings.ts";

interface OpenHostOptions {
  /** The model if none is usable. Default: the error `no_model`. */
  spareModel?: CatalogueModel | undefined;
  /** An open session. Default: that of the call's flags. */
  session?: Session;
  /** Ends the wait for another host. Default: never aborts. */
  signal?: AbortSignal;
}

type MoveReason = "new" | "resume" | "fork";

/** Owner of the current agent. Each session has its own agent; the call stays the same. */
export class AgentHost {
  readonly app: AppContext;
  readonly #startReason: SessionChoice["reason"];
  readonly #spareModel: CatalogueModel | undefined;
  #agent: Agent;
  readonly #moveInTurn = oneAfterTheOther();
  readonly #cycleInTurn = oneAfterTheOther();
  /** Aborts the extensions that decide on a session change, and those that start with the new session. */
  #asking = new AbortController();
  #moves = 0;

  private constructor(
    app: AppContext,
    agent: Agent,
    { startReason, spareModel }: OpenHostOptions & { startReason: SessionChoice["reason"] },
  ) {
    this.app = app;
    this.#agent = agent;
    this.#startReason = startReason;
    this.#spareModel = spareModel;
    app.activate(agent, sessionControl(this));
  }

  /** Opens the session of the call. `start` notifies the lifecycle. */
  static async open(
    app: AppContext,
    { spareModel, session, signal }: OpenHostOptions = {},
  ): Promise<AgentHost> {
    const choice: SessionChoice =
      session === undefined
        ? await chooseSession(app, signal)
        : { origin: session, reason: "startup", open: () => session };
    const agent = await agentFor(app, choice, { spareModel });
    return new AgentHost(app, agent, { startReason: choice.reason, spareModel });
  }

  get agent(): Agent {
    return this.#agent;
  }

  /** Call it once all listeners are set. */
  async start(): Promise<void> {
    const { name } = this.app.call.options;
    this.app.extensions.attach(this.#agent);
    const { signal } = this.#asking;
    await this.#whileMoving(async () => {
      await this.#agent.start(this.#startReason, { signal });
      await this.app.resources.load("startup", signal);
    });
    this.#warnUnknownTools();
    if (typeof name === "string") await this.setName(name);
  }

  #warnUnknownTools(): void {
    const { names } = this.#agent.tools;
    const unknown = excludedTools(this.app.call.options).filter((name) => !names.includes(name));
    if (unknown.length === 0) return;
    this.app.onNotice({
      level: "warning",
      code: "tools_unknown",
      message: `--exclude-tools: no tool is named ${unknown.join(" or ")}. Tools: ${names.join(", ")}.`,
    });
  }

  async setName(name: string): Promise<void> {
    this.#agent.session.append({ type: "session_info", name });
    const event = { type: "session_info_changed" as const, name };
    const { signal } = this.#asking;
    await this.#whileMoving(() => this.app.lifecycle.notify("session_info_changed", event, { signal }));
  }

  /**
   * Sets the thinking level too if the reference has one.
   * @throws BonsaiError for an unknown model; then nothing changes
   */
  async setModel(reference: string): Promise<CatalogueModel> {
    const choice = await findWanted(this.app.models, reference);
    await this.#setChoice(choice);
    return choice.model;
  }

  /**
   * Sets the next or previous favourite model; without favourites, the next usable one. `model` is undefined if
   * there is no other.
   */
  cycleModel(step: 1 | -1): Promise<ModelCycle & { model: CatalogueModel | undefined }> {
    return this.#cycleInTurn(async () => {
      const { models, settings } = this.app;
      const cycle = await modelCycle(models, settings.favoriteModels);
      const choice = nextChoice(cycle.choices, this.#agent.model, step);
      if (choice !== undefined) {
        models.offline?.choose(choice.model);
        await this.#setChoice(await withWindow(models, choice));
      }
      return { ...cycle, model: choice?.model };
    });
  }

  async #setChoice({ model, thinking }: ModelChoice): Promise<void> {
    this.app.models.offline?.choose(model);
    await this.#agent.setModel(model);
    if (thinking !== undefined) await this.#agent.setThinking(thinking);
  }

  /** Switches to another session. A failure changes nothing. @returns false if an extension refused */
  async replace(reason: "new" | "resume", choice: SessionChoice): Promise<boolean> {
    const file = choice.origin?.file;
    const target = file === undefined ? {} : { targetSessionFile: file };
    const decide = (options: { signal: AbortSignal }) =>
      this.app.lifecycle.decide(
        "session_before_switch",
        { type: "session_before_switch", reason, ...target },
        options,
      );
    let hasMoved = false;
    try {
      hasMoved = await this.#move(reason, choice, decide);
      return hasMoved;
    } finally {
      // Other hosts may have it.
      if (!hasMoved) choice.origin?.close();
    }
  }

  /** Switches to a copy of the session up to an entry. @returns false if an extension refused */
  fork(entryId: string, choice: SessionChoice, position: "before" | "at" = "at"): Promise<boolean> {
    return this.#move("fork", choice, (options) =>
      this.app.lifecycle.decide(
        "session_before_fork",
        { type: "session_before_fork", entryId, position },
        options,
      ),
    );
  }

  stop(): Promise<void> {
    this.stopMoving();
    return this.#agent.abort();
  }

  /** True while extensions delay a session change or a new name. */
  get isMoving(): boolean {
    return this.#moves > 0;
  }

  /** Cancels an undecided session change, and the wait for extensions that hang at a session's start. */
  stopMoving(): void {
    this.#asking.abort();
    this.#asking = new AbortController();
  }

  #move(
    reason: MoveReason,
    choice: SessionChoice,
    decide: (options: { signal: AbortSignal }) => Promise<{ result?: { cancel?: boolean } | undefined }>,
  ): Promise<boolean> {
    const move = async () => {
      const { signal } = this.#asking;
      const { result } = await decide({ signal });
      return signal.aborted || result?.cancel === true ? false : this.#switchSession(choice, reason);
    };
    return this.#moveInTurn(() => this.#whileMoving(move));
  }

  async #whileMoving<Value>(go: () => Promise<Value>): Promise<Value> {
    this.#moves += 1;
    try {
      return await go();
    } finally {
      this.#moves -= 1;
    }
  }

  async #switchSession(choice: SessionChoice, reason: MoveReason): Promise<true> {
    const previous = this.#agent;
    const { model, thinking } = previous.state;
    const spareModel = this.#spareModel;
    const isSpare = model.provider === spareModel?.provider && model.id === spareModel.id;
    const before = { model: isSpare ? undefined : model, thinking };
    const agent = await agentFor(this.app, choice, { before, spareModel });
    const { file, leafId } = previous.session;
    // A session without an entry has no file yet.
    const previousSessionFile = leafId === null ? undefined : file;
    await previous.close(reason, { targetSessionFile: agent.session.file });
    this.#agent = agent;
    this.app.activate(agent, sessionControl(this));
    this.app.extensions.attach(agent);
    const { signal } = this.#asking;
    await agent.start(reason, { previousSessionFile, signal });
    // The resources of extensions can depend on the session.
    if (this.app.lifecycle.hasHandlers("resources_discover"))
      await this.app.resources.load("startup", signal);
    return true;
  }

  async close(): Promise<void> {
    await this.#agent.close("quit");
    await this.app.database?.close();
  }
}

/** Asks the server for a window that the catalogue does not have. */
async function withWindow(models: ModelRegistry, { model, ...level }: ModelChoice): Promise<ModelChoice> {
  if (model.contextWindow) return { model, ...level };
  return { model: await findModel(models, `${model.provider}/${model.id}`), ...level };
}

/** A new session keeps the model and thinking level of the session before. */
interface Handover {
  model: CatalogueModel | undefined;
  thinking: ThinkingLevel;
}

async function agentFor(
  app: AppContext,
  choice: SessionChoice,
  { before, spareModel }: OpenHostOptions & { before?: Handover },
): Promise<Agent> {
  const { call, home, cwd, models, lifecycle, onNotice, ui, reviewCompaction } = app;
  const { origin } = choice;
  const named = before === undefined ? namedReference(models, call.options) : undefined;
  const usual = app.settings.model;
  const wish = { named, origin, before: before?.model, usual, spare: spareModel };
  const { model, thinking: level } = await chooseModel(models, wish);
  models.offline?.choose(model);
  const isNamed = named !== undefined;
  const settings = { ...app.settings, thinking: thinkingFor(app, origin, { before, level, isNamed }) };
  const prompt = givenPrompt(call);
  const smallModel = await smallModelOf(app);
  const session = await choice.open();
  noticeOtherFolder(session, app);
  // A script waits for the end of its prompt only.
  const isAttended = ["tui", "rpc", "acp"].includes(String(call.options.mode));
  const confirmMoreRequests = askLongRun(isAttended ? ui : undefined);
  return openAgent({
    session,
    cwd,
    home,
    settings,
    models: models.client,
    model,
    lifecycle,
    onNotice,
    ...(session.store.durable !== undefined && { durability: "shared" }),
    ...(prompt && { givenPrompt: prompt }),
    ...(smallModel && { smallModel }),
    excludedTools: excludedTools(call.options),
    skills: () => app.resources.skills,
    expandInput: (input) => app.resources.expand(input),
    ...app.toolPlace,
    confirmPath: app.confirmPath(session.id),
    ...(confirmMoreRequests && { confirmMoreRequests }),
    ...(reviewCompaction && { reviewCompaction }),
  });
}

interface LevelWish {
  before: Handover | undefined;
  level: ThinkingLevel | undefined;
  /** True if the call names the model, false if the settings do. */
  isNamed: boolean;
}

/** Order: the flag, the call's model, the session, the session before, the settings. */
function thinkingFor(
  { call, settings }: AppContext,
  origin: Session | undefined,
  { before, level, isNamed }: LevelWish,
): ThinkingLevel {
  if (before === undefined && call.options.thinking !== undefined) return settings.thinking;
  if (isNamed && level !== undefined) return level;
  const usual = level ?? settings.thinking;
  if (origin === undefined) return before?.thinking ?? usual;
  const { thinkingLevel } = origin.settings();
  return thinkingLevels.find((each) => each === thinkingLevel) ?? usual;
}

/** Titles are not worth an error. */
async function smallModelOf({ settings, models }: AppContext): Promise<CatalogueModel | undefined> {
  if (settings.smallModel === undefined) return undefined;
  try {
    const model = await findModel(models, settings.smallModel);
    return models.offline?.allows(model) === false ? undefined : model;
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    models.onNotice({
      code: "small_model_gone",
      message: `The setting smallModel is not usable: ${error.message}`,
    });
    return undefined;
  }
}

/** Never relative to a folder. */
const shownFolder = (folder: string) => shownPath(folder, folder);

function noticeOtherFolder(session: Session, { call, cwd, onNotice }: AppContext): void {
  if (session.cwd === "" || session.cwd === cwd) return;
  if (session.file !== undefined && session.store.durable === undefined)
    rememberContinued(session.file, { ...sessionPlace(call), cwd });
  onNotice({
    level: "info",
    code: "other_folder",
    message: `This session started in ${shownFolder(session.cwd)}. Tools now work in ${shownFolder(cwd)}.`,
  });
}

/** Asks whether a long run may continue; undefined without a user: then it ends. */
function askLongRun(ui: FrontEndUI | undefined): ConfirmMoreRequests | undefined {
  if (ui === undefined) return undefined;
  return ({ requests, signal }) => {
    const count = digits(requests);
    const message = `The agent made ${count} requests without your input. Continue for ${count} more?`;
    return ui.confirm("Continue?", message, { signal });
  };
}
