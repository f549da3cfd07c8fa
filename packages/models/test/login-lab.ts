import { onTestFinished } from "vitest";
import type { LoginCredentials } from "../src/keys/provider-login.ts";
import { finalEvent, ModelClient } from "../src/model-client.ts";
import type { ModelNotice } from "../src/model-request.ts";
import { givenCredentials, type LoginLab, loginLab } from "./login-user.ts";
import { turnOf } from "./openai-exchange.ts";

/** A provider with a login; its server runs until the test ends. */
export async function open(...given: Parameters<typeof loginLab>): Promise<LoginLab> {
  const lab = await loginLab(...given);
  onTestFinished(() => lab.server.close());
  return lab;
}

/** A login that ends so many milliseconds from now. */
export async function openLoggedIn(
  endsInMs: number,
  ...given: Parameters<typeof loginLab>
): Promise<LoginLab & { credentials: LoginCredentials }> {
  const lab = await open(...given);
  const credentials = await givenCredentials(lab, endsInMs);
  lab.store({ lab: credentials, other: { type: "api_key", key: "k" } });
  return { ...lab, credentials };
}

/** One request; waits between its attempts are left out. */
export async function ask({ keys, model }: LoginLab, signal?: AbortSignal) {
  const notices: ModelNotice[] = [];
  const client = new ModelClient({ keys, sleep: async () => {} });
  const { message, ...event } = await finalEvent(
    client.stream(turnOf(model, { signal, onNotice: (notice) => void notices.push(notice) })),
  );
  const failure = "failure" in event ? event.failure : undefined;
  return {
    text: message.content.map((each) => ("text" in each ? each.text : "")).join(""),
    message,
    failure,
    notices,
  };
}

export const HOUR_MS = 3_600_000;

/** The first token was for the login itself. */
export const refreshes = ({ server }: LoginLab) => server.count("token") - 1;
