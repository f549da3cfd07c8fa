import { setTimeout as timer } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/messages";
import type { DeviceAuthorizationResponse } from "oauth4webapi";
import { type OAuthClient, refusedWith } from "./oauth-client.ts";
import type { LoginCredentials } from "./provider-login.ts";

interface DevicePoll {
  client: OAuthClient;
  device: DeviceAuthorizationResponse;
  signal: AbortSignal;
  /** Waits so many milliseconds; rejects after an abort. Default: a timer. */
  wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** As the protocol has it: so much longer between two questions, where the provider finds them too many. */
const SLOWER_SECONDS = 5;
const DEFAULT_INTERVAL_SECONDS = 5;
/** A provider may be gone for a moment; the user types meanwhile. */
const MOST_FAILURES = 5;

/**
 * Asks whether the user has typed the code, until he has, said no, or the code has ended.
 * @throws BonsaiError `login_denied`, `login_timeout`, `login_refused`, `login_unanswered`
 */
export async function pollDevice({
  client,
  device,
  signal,
  wait = (ms) => timer(ms, undefined, { signal }),
}: DevicePoll): Promise<LoginCredentials> {
  const endsMs = performance.now() + device.expires_in * 1000;
  let intervalSeconds = device.interval ?? DEFAULT_INTERVAL_SECONDS;
  let failures = 0;
  while (performance.now() < endsMs) {
    await wait(intervalSeconds * 1000, signal);
    try {
      return await client.pollOnce(device.device_code, signal);
    } catch (error) {
      signal.throwIfAborted();
      const word = refusedWith(error);
      if (word === "slow_down") intervalSeconds += SLOWER_SECONDS;
      if (word === "slow_down" || word === "authorization_pending") continue;
      failures += 1;
      if (!isPassing(error) || failures === MOST_FAILURES) throw isEnded(error) ? codeEnded() : error;
    }
  }
  throw codeEnded();
}

function isPassing(error: unknown): boolean {
  return BonsaiError.is(error) && error.code === "login_unanswered";
}

function isEnded(error: unknown): boolean {
  return BonsaiError.is(error) && error.code === "login_refused" && /\bexpired_token\b/.test(error.message);
}

function codeEnded(): BonsaiError {
  return new BonsaiError({
    code: "login_timeout",
    message: "The login code expired before you entered it.",
    hint: "Start the login again and enter the new code.",
  });
}
