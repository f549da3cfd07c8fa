import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

type Env = Readonly<Record<string, string | undefined>>;

/** Options for the provider: the variable of its key, and the missing setting. */
interface BedrockCredentials {
  apiKey?: string;
  missing?: string;
}

/** The variable of a Bedrock API key, as AWS documents it. */
const BEARER = "AWS_BEARER_TOKEN_BEDROCK";

/** Variables with AWS credentials. The SDK reads them itself. */
const SIGNS = [
  "AWS_ACCESS_KEY_ID",
  "AWS_PROFILE",
  "AWS_WEB_IDENTITY_TOKEN_FILE",
  "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
  "AWS_CONTAINER_CREDENTIALS_FULL_URI",
] as const;

/**
 * Whether there is a sign of AWS credentials; which they are is the SDK's to find out, at the first request. Without any, a
 * Bedrock API key is asked for, unless only a region is set: an instance's role needs nothing else.
 */
export function credentialsOf(env: Env): BedrockCredentials {
  const hasCredentials = SIGNS.some((name) => isSet(env[name])) || hasSharedFiles(env);
  const hasRegion = isSet(env.AWS_REGION) || isSet(env.AWS_DEFAULT_REGION);
  if (isSet(env[BEARER]))
    return { apiKey: `$${BEARER}`, ...(hasRegion || hasSharedFiles(env) ? {} : noRegion) };
  if (hasCredentials) return hasRegion || hasSharedFiles(env) ? {} : noRegion;
  return hasRegion ? {} : { missing: `${NO_CREDENTIALS} ${REMEDY}` };
}

/** The remedy for missing credentials. */
export const REMEDY =
  "Set AWS_REGION and one of: AWS_PROFILE (after `aws configure` or `aws sso login`), AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK.";

export const NO_CREDENTIALS = "Found no AWS credentials for Amazon Bedrock.";

export const NO_REGION = "No AWS region is set for Amazon Bedrock.";

const noRegion = { missing: `${NO_REGION} Set AWS_REGION, for example us-east-1.` };

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== "";
}

function hasSharedFiles(env: Env): boolean {
  const home = join(homedir(), ".aws");
  return [
    env.AWS_SHARED_CREDENTIALS_FILE ?? join(home, "credentials"),
    env.AWS_CONFIG_FILE ?? join(home, "config"),
  ].some((file) => existsSync(file));
}
