;; A well-behaved extension as a core module. A hostile guest is a text with its own version of some of these parts:
;; whatever it defines under the same name stands in the place of what is here. `@…@` is filled in by the test.
;;
;; Every function answers with a pointer to its result; 1024 is all zeros, which reads as `ok` of nothing.

(type $describe (func (result i32)))
(type $call (func (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
(type $before_turn (func (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
(type $before_step (func (param i32) (result i32)))
(type $before_tool_call (func (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
(type $after_tool_call (func (param i32 i32 i32 i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32 i32) (result i32)))
(type $on_step_finish (func (param i32) (result i32)))
(type $on_chunk (func (param i32 i32) (result i32)))
(type $on_chat_response (func (param i32) (result i32)))
(type $on_chat_error (func (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
(type $realloc (func (param i32 i32 i32 i32) (result i32)))

(memory $memory 2)

;; The manifest, its lists, and what they point at.
(data $manifest (i32.const 2048)
  "\00\0d\00\00@name-length@\00\00\00" ;; name
  "\00\0c\00\00\01\00\00\00"           ;; version
  "\00\0c\00\00\01\00\00\00"           ;; description
  "\10\0c\00\00@hooks@\00\00\00"       ;; hooks
  "\00\0e\00\00@tools@\00\00"          ;; tools
  "\00\00\00\00"                       ;; permissions: workspace
  "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00" ;; network, context
  "\00\00\00\00"                       ;; messages, send-message, session-info
  "\20\0c\00\00@decide@\00\00\00"      ;; decide
  "\00\00\00\00")                      ;; model; the rest is zeros
(data $words (i32.const 3072) "1")
(data $hooks (i32.const 3088) "\00\01\02\03\04\05\06\07")
(data $decide (i32.const 3104) "\02")
(data $name (i32.const 3328) "@name@")
(data $tool (i32.const 3584)
  "\40\0e\00\00\03\00\00\00"           ;; name
  "\00\0c\00\00\01\00\00\00"           ;; description
  "\50\0e\00\00\11\00\00\00"           ;; input-schema
  "\00\00\00\00")                      ;; replay, sequential, needs-approval
(data $tool_name (i32.const 3648) "act")
(data $schema (i32.const 3664) "{\"type\":\"object\"}")

;; ok("well-behaved"), as JSON
(data $output (i32.const 4096) "\00\00\00\00\10\10\00\00\0e\00\00\00\00\00\00\00\"well-behaved\"")

(func $describe (type $describe) (i32.const 2048))
(func $call (type $call) (i32.const 4096))
(func $before_turn (type $before_turn) (i32.const 1024))
(func $before_step (type $before_step) (i32.const 1024))
(func $before_tool_call (type $before_tool_call) (i32.const 1024))
(func $after_tool_call (type $after_tool_call) (i32.const 1024))
(func $on_step_finish (type $on_step_finish) (i32.const 1024))
(func $on_chunk (type $on_chunk) (i32.const 1024))
(func $on_chat_response (type $on_chat_response) (i32.const 1024))
(func $on_chat_error (type $on_chat_error) (i32.const 1024))

;; Takes from the second page and starts over when that is full: nothing is needed for longer than a call.
(global $heap (mut i32) (i32.const 65536))
(func $realloc (type $realloc)
  (local $start i32)
  (local.set $start (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
  (if (i32.gt_u (i32.add (local.get $start) (local.get 3)) (i32.const 131072))
    (then (local.set $start (i32.const 65536))))
  (global.set $heap (i32.add (local.get $start) (local.get 3)))
  (local.get $start))

(export "memory" (memory $memory))
(export "cabi_realloc" (func $realloc))
(export "lathe:extension/extension-manifest@0.1.0#describe" (func $describe))
(export "lathe:extension/tools@0.1.0#call" (func $call))
(export "lathe:extension/hooks@0.1.0#before-turn" (func $before_turn))
(export "lathe:extension/hooks@0.1.0#before-step" (func $before_step))
(export "lathe:extension/hooks@0.1.0#before-tool-call" (func $before_tool_call))
(export "lathe:extension/hooks@0.1.0#after-tool-call" (func $after_tool_call))
(export "lathe:extension/hooks@0.1.0#on-step-finish" (func $on_step_finish))
(export "lathe:extension/hooks@0.1.0#on-chunk" (func $on_chunk))
(export "lathe:extension/hooks@0.1.0#on-chat-response" (func $on_chat_response))
(export "lathe:extension/hooks@0.1.0#on-chat-error" (func $on_chat_error))
