// `DefaultChatTransport` and `AbstractChat` of version 6 of the AI SDK.

import * as sdk from 'ai'

import { checks } from './lib/sdk.mjs'

checks(sdk)
