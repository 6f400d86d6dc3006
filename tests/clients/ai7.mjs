// `DefaultChatTransport` and `AbstractChat` of version 7 of the AI SDK.

import * as sdk from 'ai7'

import { checks } from './lib/sdk.mjs'

checks(sdk)
