import type { ProviderConfig } from "@bonsai-agent/models";
import type { LoginCallbacks, ProviderLogin } from "@bonsai-agent/models/login";
import { openLoginPage, PASTE_QUESTION } from "../../call/login.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askPick } from "../panels/ask.ts";
import { LoginPanel } from "../panels/login-panel.ts";
import { copy } from "./copy.ts";

/**
 * Runs the login of a provider in a panel. Esc cancels it, and nothing is stored.
 * @returns the stored login; undefined after a cancel
 * @throws what the login throws
 */
export async function runProviderLogin(
  { provider }: ProviderConfig,
  login: ProviderLogin,
  context: InteractiveContext,
): Promise<{ expires: number | undefined } | undefined> {
  const { host, screen, notify } = context;
  const controller = new AbortController();
  const { promise: panel, resolve: opened } = Promise.withResolvers<LoginPanel>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  // The login ends with its panel: by Esc or at the end of the program.
  const shown = screen.show<void>((done) => {
    void closed.then(() => done(undefined));
    const made = new LoginPanel({
      place: screen,
      title: `Log in to ${login.name}`,
      onCopy: (text) => void copied(text, made, context),
      onOpen: (url) => void openPage(url, made, context),
      onCancel: () => done(undefined),
    });
    opened(made);
    return made;
  });
  void shown.then(() => controller.abort(new Error("Login cancelled.")));
  try {
    const callbacks = callbacksOf(await panel, controller.signal, close, context);
    return await host.app.models.keys.logins.login(provider, callbacks);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    notify("Login cancelled. Nothing was stored.");
    return undefined;
  } finally {
    close();
    await shown;
  }
}

function callbacksOf(
  panel: LoginPanel,
  signal: AbortSignal,
  cancel: () => void,
  context: InteractiveContext,
): LoginCallbacks {
  return {
    signal,
    onAuth({ url, instructions }) {
      panel.showUrl(url, instructions);
      void openPage(url, panel, context);
    },
    onDeviceCode: (info) => panel.showCode(info),
    onProgress: (message) => panel.progress(message),
    onPrompt: (prompt) => panel.ask(prompt),
    onManualCodeInput: () => panel.askForCode(PASTE_QUESTION),
    async onSelect({ message, options }) {
      const chosen = await askPick(context.screen, {
        title: message,
        items: options,
        key: ({ id }) => id,
        text: ({ label }) => label,
        row: ({ label, description }) => ({ label, detail: description }),
      });
      if (chosen === undefined) cancel();
      return chosen?.id;
    },
  };
}

async function openPage(url: string, panel: LoginPanel, { host }: InteractiveContext): Promise<void> {
  panel.status(await openLoginPage(url, host.app.call.io.env));
}

async function copied(text: string, panel: LoginPanel, context: InteractiveContext): Promise<void> {
  const notify: InteractiveContext["notify"] = (message) => panel.status(message);
  await copy({ name: "the text", text }, { ...context, notify }).catch((error: Error) =>
    panel.status(error.message),
  );
}
