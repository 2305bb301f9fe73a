/* Prints where one perl (5.36 and later, with threads) keeps its call stack: one row of ../perl_offsets.h.
 *
 *     cc -O2 -D_GNU_SOURCE -I CORE -Wl,--unresolved-symbols=ignore-all -o row perl.c && ./row
 *
 * CORE is `perl -MConfig -e 'print "$Config{archlibexp}/CORE"'`. `make` does not build it; tests/check_offsets.py does. */
#include <EXTERN.h>
#include <perl.h>

#include <stddef.h>
#include <stdio.h>

#ifndef SVphv_HasAUX
#define SVphv_HasAUX SVf_OOK
#endif

#define ROW(field, value) printf("\t\t.%s = %zu,\n", #field, (size_t)(value))

/* The value, in the 16 bits behind op_targ, of a bit field set to all ones. */
#define BITS(field, member) \
	do { \
		OP op; \
		U16 bits; \
		memset(&op, 0, sizeof(op)); \
		op.member = ~0u; \
		memcpy(&bits, (char *)&op.op_targ + sizeof(op.op_targ), sizeof(bits)); \
		ROW(field, bits); \
	} while (0)

static void row_op(void)
{
	ROW(current_op, offsetof(PerlInterpreter, Iop));
	ROW(context_return, offsetof(PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.retop));
	ROW(context_eval_return, offsetof(PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_eval.retop));
	ROW(op_next, offsetof(OP, op_next));
	ROW(op_sibling, offsetof(OP, op_sibparent));
	ROW(op_target, offsetof(OP, op_targ));
	ROW(op_bits, offsetof(OP, op_targ) + sizeof(((OP *)NULL)->op_targ));
	BITS(op_type_mask, op_type);
	BITS(op_has_sibling, op_moresib);
	ROW(op_flags, offsetof(OP, op_flags));
	ROW(op_has_kids, OPf_KIDS);
	ROW(op_first, offsetof(UNOP, op_first));
	ROW(op_null, OP_NULL);
	ROW(op_nextstate, OP_NEXTSTATE);
	ROW(op_call, OP_ENTERSUB);
	ROW(op_eval, OP_ENTEREVAL);
	ROW(op_require, OP_REQUIRE);
	ROW(op_do_file, OP_DOFILE);
}

int main(void)
{
	printf("\t{\n");
	ROW(version, PERL_VERSION);
	ROW(interpreter_bytes, sizeof(PerlInterpreter));
	ROW(current_cop, offsetof(PerlInterpreter, Icurcop));
	ROW(current_stack, offsetof(PerlInterpreter, Icurstackinfo));
	ROW(stack_contexts, offsetof(PERL_SI, si_cxstack));
	ROW(stack_previous, offsetof(PERL_SI, si_prev));
	ROW(stack_top, offsetof(PERL_SI, si_cxix));
	ROW(context_bytes, sizeof(PERL_CONTEXT));
	ROW(context_cop, offsetof(PERL_CONTEXT, cx_u.cx_blk.blku_oldcop));
	ROW(context_sub, offsetof(PERL_CONTEXT, cx_u.cx_blk.blk_u.blku_sub.cv));
	ROW(type_mask, CXTYPEMASK);
	ROW(type_sub, CXt_SUB);
	ROW(type_format, CXt_FORMAT);
	ROW(type_eval, CXt_EVAL);
	ROW(cop_line, offsetof(COP, cop_line));
	ROW(cop_file, offsetof(COP, cop_file));
	ROW(sv_body, offsetof(SV, sv_any));
	ROW(sv_flags, offsetof(SV, sv_flags));
	ROW(sv_type_mask, SVTYPEMASK);
	ROW(sv_type_code, SVt_PVCV);
	ROW(sv_type_glob, SVt_PVGV);
	ROW(sv_type_hash, SVt_PVHV);
	ROW(code_stash, offsetof(XPVCV, xcv_stash));
	ROW(code_name, offsetof(XPVCV, xcv_gv_u));
	ROW(code_flags, offsetof(XPVCV, xcv_flags));
	ROW(code_is_named, CVf_NAMED);
	ROW(glob_name, offsetof(XPVGV, xiv_u));
	ROW(glob_stash, offsetof(XPVGV, xnv_u));
	ROW(hash_has_name, SVphv_HasAUX);
	ROW(hash_name, offsetof(struct xpvhv_with_aux, xhv_aux.xhv_name_u));
	ROW(hash_name_count, offsetof(struct xpvhv_with_aux, xhv_aux.xhv_name_count));
	ROW(key_length, offsetof(HEK, hek_len));
	ROW(key_bytes, offsetof(HEK, hek_key));
	row_op();
	printf("\t},\n");
	return 0;
}
